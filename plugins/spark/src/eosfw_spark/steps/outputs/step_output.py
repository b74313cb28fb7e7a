"""What every kind of output does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class StepOutput(Protocol):
    """Where one step writes (Spark's `DataFrameWriter` and `DataStreamWriter` in one)."""

    def write(self, frame: DataFrame) -> int:
        """Write all rows of a batch step, replace what it wrote before, and return how many there are."""

    def start(self, stream: DataStreamWriter, *, new: bool) -> StreamingQuery:
        """Start the query of a streaming step; `new` says that its checkpoint begins with it."""


def counted(frame: DataFrame, write: Callable[[DataFrame], None]) -> int:
    """Write a DataFrame, and count its rows on the way."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    rows = Observation()
    write(frame.observe(rows, F.count(F.lit(1)).alias("rows")))
    return int(rows.get["rows"])
