"""The console, by Python: Spark's own sink prints to stdout, which belongs to the summary."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True, slots=True)
class ConsoleOutput:
    """Shows the first rows of a step, or of each batch (Spark's `ConsoleTable`)."""

    step: str
    limit: int

    def write(self, frame: DataFrame) -> int:
        """Show the first rows, count all; they are computed once."""
        kept = frame.persist()
        try:
            rows = kept.count()
            self._show(kept, f"-- {self.step}", rows)
        finally:
            kept.unpersist()
        return rows

    def start(self, stream: DataStreamWriter, *, new: bool) -> StreamingQuery:
        """Show each batch that has rows."""

        def show(batch: DataFrame, number: int) -> None:
            kept = batch.persist()
            try:
                if rows := kept.count():
                    self._show(kept, f"-- {self.step}, batch {number}", rows)
            finally:
                kept.unpersist()

        return stream.foreachBatch(show).start()

    def _show(self, frame: DataFrame, title: str, rows: int) -> None:
        shown = frame.limit(self.limit).toArrow().to_pylist()
        lines = ["  ".join(f"{name}={value}" for name, value in row.items()) for row in shown]
        more = [f"... {rows - len(shown)} more"] if rows > len(shown) else []
        sys.stderr.write("".join(f"{line}\n" for line in [title, *lines, *more]))
