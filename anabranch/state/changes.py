"""What an epoch has left of a state, as rows of Arrow columns: what logs and snapshots hold.

The columns of a state are those of `load` (see `tables`), all of them nullable, and `present`: a row in which that is
false says that the entry of its key is gone, and its value is null. An own type has one row, `content`.

Laws: to apply the changes of an epoch to what was there before gives what is there after; to apply them twice changes
nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anabranch.graph.nodes import State
from anabranch.lang.marks import is_builtin
from anabranch.state.tables import load_columns

if TYPE_CHECKING:
    import pyarrow as pa

PRESENT = "present"
CONTENT = "content"


class Change(NamedTuple):
    """New rows of a state of an instance. With `whole` they are all that there is, else what they name changes."""

    state: str
    instance: int
    whole: bool
    rows: pa.RecordBatch


def schema_of(state: State) -> pa.Schema:
    """The columns in which a state is saved."""
    import pyarrow as pa

    from anabranch.lang.arrow import arrow_type

    if not is_builtin(state.cls):
        columns: list[tuple[str, Any]] = [(CONTENT, pa.binary())]
    else:
        columns = [(name, arrow_type(t)) for name, t in load_columns(state)]
    return pa.schema([*(pa.field(name, t) for name, t in columns), pa.field(PRESENT, pa.bool_(), nullable=False)])
