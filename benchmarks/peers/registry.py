"""Who is measured: anabranch, and what people would use instead; for what a peer cannot do, why.

Versions are pinned. Sizes say how much of a workload a contender gets: all are compared by what they do a second, and a
slow one is given less to do. What was tuned is in the docstring of the peer's script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workloads import Sizes

ARROW = ("pyarrow==26.0.1", "numpy==2.4.6")  # what reads the input, for those that do not bring their own
STREAMING, DICTS, LEARNING, ON_SPARK = 10.0, 5.0, 0.5, 8.0

NO_LOOP = "each rating changes a hundred counts of other keys and each question reads all of them: "
NO_MODEL = "it has no iteration over a data set with a model as its state"


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that runs workloads. Every workload is in `does`, or in `cannot` with the reason."""

    name: str
    title: str
    script: str
    does: Mapping[str, Sizes]
    cannot: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] | None = None  # of its own environment; None: it runs in that of the project
    options: Mapping[str, Any] = field(default_factory=dict)
    server: str | None = None
    java: bool = False
    spark: bool = False
    at_least: float = STREAMING  # how many times as fast the embedded engine shall be

    @property
    def environment(self) -> str:
        """The folder of its environment: contenders with the same packages share one."""
        return "-".join(self.packages[:1]).replace("==", "-") if self.packages else ""


ALL = Sizes()
THOUSAND = Sizes(batch=1_000, batches=1)  # of five thousand requests

OURS = (
    *(
        Contender(
            f"embedded-{workers}",
            f"anabranch, {workers} worker{'s' if workers > 1 else ''}",
            "with_anabranch.py",
            dict.fromkeys(("keyed_sum", "word_count", "key_value", "recommender", "logistic"), ALL),
            options={"workers": workers},
        )
        for workers in (1, 2)
    ),
    Contender(
        "on-spark",
        "anabranch on Spark, 2 workers",
        "with_anabranch_on_spark.py",
        {
            "keyed_sum": Sizes(batches=4, warm=4),
            "word_count": Sizes(batch=50_000, batches=3, warm=1),
            "key_value": Sizes(batch=500_000, batches=3, warm=1),
            "logistic": ALL,
        },
        {"recommender": "no peer on Spark does it, and on Spark it is measured beside those"},
        java=True,
        spark=True,
    ),
)

PEERS = (
    Contender(
        "python",
        "plain Python",
        "with_python.py",
        {**dict.fromkeys(("keyed_sum", "word_count", "key_value", "logistic"), ALL), "recommender": THOUSAND},
        at_least=DICTS,
    ),
    Contender(
        "bytewax",
        "Bytewax",
        "with_bytewax.py",
        {
            "keyed_sum": Sizes(share=0.2),
            "word_count": Sizes(share=0.5),
            "key_value": Sizes(share=0.5),
        },
        {
            "recommender": NO_LOOP + "an operator of Bytewax sees one key",
            "logistic": NO_MODEL,
        },
        packages=("bytewax==0.21.1", *ARROW),
    ),
    Contender(
        "pathway",
        "Pathway",
        "with_pathway.py",
        {
            "keyed_sum": Sizes(share=0.2),
            "word_count": ALL,
            "key_value": ALL,
        },
        {
            "recommender": NO_LOOP + "its tables are changed by joins and reductions only",
            "logistic": NO_MODEL,
        },
        packages=("pathway==0.33.0",),
    ),
    Contender(
        "flink",
        "PyFlink DataStream",
        "with_flink.py",
        {
            "keyed_sum": Sizes(batch=25_000, batches=2, fill=False, warm=1),
            "word_count": Sizes(batch=2_500, batches=2, warm=1),
            "key_value": Sizes(batch=25_000, batches=2, warm=1, fill=False),
        },
        {
            "recommender": NO_LOOP + "a keyed function of Flink sees one key",
            "logistic": NO_MODEL,
        },
        packages=("apache-flink==2.3.0",),
        options={"api": "datastream"},
        java=True,
    ),
    Contender(
        "flink-sql",
        "PyFlink SQL",
        "with_flink.py",
        {
            "keyed_sum": Sizes(share=0.2),
            "word_count": ALL,
            "key_value": ALL,
        },
        {
            "recommender": "SQL has no loop over a row of state that changes other rows",
            "logistic": NO_MODEL,
        },
        packages=("apache-flink==2.3.0",),
        options={"api": "sql"},
        java=True,
    ),
    Contender(
        "spark",
        "Spark streaming, groupBy",
        "with_spark.py",
        {
            "keyed_sum": Sizes(batches=2, warm=2),
            "word_count": Sizes(batch=50_000, batches=3, warm=1),
            "key_value": Sizes(batch=500_000, batches=3, warm=1),
        },
        {
            "recommender": "an aggregation cannot read and change other groups",
            "logistic": "see Spark MLlib",
        },
        java=True,
        spark=True,
    ),
    Contender(
        "spark-pandas",
        "Spark transformWithStateInPandas",
        "with_spark_pandas.py",
        {
            "keyed_sum": Sizes(batch=2_500, batches=2, warm=1, fill=False),
            "word_count": Sizes(batch=250, batches=2, warm=1),
            "key_value": Sizes(batch=2_500, batches=2, warm=1, fill=False),
        },
        {
            "recommender": NO_LOOP + "a stateful processor sees one key",
            "logistic": "see Spark MLlib",
        },
        java=True,
        spark=True,
    ),
    Contender(
        "redis",
        "Redis with redis-py",
        "with_redis.py",
        {
            "keyed_sum": Sizes(share=0.1),
            "word_count": Sizes(share=0.2),
            "key_value": Sizes(share=0.5),
            "recommender": THOUSAND,
        },
        {"logistic": "it stores values; a regression would be computed by its client, which is plain Python"},
        packages=("redis==8.1.0", "hiredis==3.4.2", *ARROW),
        server="redis-server",
        at_least=DICTS,
    ),
    Contender(
        "ray",
        "Ray actors",
        "with_ray.py",
        {**dict.fromkeys(("keyed_sum", "word_count", "key_value", "logistic"), ALL), "recommender": THOUSAND},
        packages=("ray==2.60.0", *ARROW),
        options={"workers": 2},
    ),
    Contender(
        "sklearn",
        "scikit-learn",
        "with_sklearn.py",
        {"logistic": ALL},
        dict.fromkeys(("keyed_sum", "word_count", "key_value", "recommender"), "it has no keyed state"),
        packages=("scikit-learn==1.9.1", *ARROW),
        at_least=LEARNING,
    ),
    Contender(
        "mllib",
        "Spark MLlib",
        "with_mllib.py",
        {"logistic": ALL},
        {
            "recommender": "it trains factors in batch; a rating is not in the model before the next training",
            **dict.fromkeys(("keyed_sum", "word_count", "key_value"), "it learns models; see Spark streaming"),
        },
        java=True,
        spark=True,
    ),
)
