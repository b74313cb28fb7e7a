"""Parquet files: the parts are row groups."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, ClassVar

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class ParquetColumns:
    """An open Parquet file; pages are read as rows are asked for."""

    title: ClassVar[str] = "Parquet"
    mark: ClassVar[bytes] = b"PAR1"
    part: ClassVar[str] = "row_group"

    def __init__(self, handle: IO[bytes] | pa.NativeFile) -> None:
        self._file = pq.ParquetFile(handle)
        self.schema: pa.Schema = self._file.schema_arrow
        self.parts: int = self._file.num_row_groups

    def batches(self, part: int, rows: int) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = self._file.iter_batches(batch_size=rows, row_groups=[part])
        return found
