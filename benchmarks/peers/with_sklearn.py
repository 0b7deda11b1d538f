"""scikit-learn: `SGDClassifier.partial_fit`, one pass over all points an iteration.

Tuned: the same steps as anabranch with one worker (logistic loss, no penalty, a constant rate, points in their order),
over one contiguous array of doubles, which its Cython loop reads without a copy.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pyarrow as pa
from sklearn.linear_model import SGDClassifier
from talk import Done, Spec, answer, settle


def logistic(spec: Spec) -> Done:
    (table,) = spec.batches_counted()
    x, y = np.ascontiguousarray(table["x"].to_pylist()), table["y"].to_numpy()
    model = SGDClassifier(
        loss="log_loss",
        penalty=None,
        learning_rate="constant",
        eta0=spec.parameters["rate"],
        fit_intercept=False,
        shuffle=False,
    )
    classes = np.array([0.0, 1.0])
    settle()
    start = perf_counter()
    for _ in range(spec.parameters["iterations"]):
        model.partial_fit(x, y, classes=classes)
    return Done(perf_counter() - start, lambda: pa.table({"value": model.coef_[0]}))


if __name__ == "__main__":
    answer({"logistic": logistic}, ("scikit-learn",))
