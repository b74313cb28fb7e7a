"""Files in Arrow's IPC format, also called Feather: the parts are record batches."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, ClassVar

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator


class ArrowColumns:
    """An open Arrow IPC file; a batch is read as a whole."""

    title: ClassVar[str] = "Arrow IPC"
    mark: ClassVar[bytes] = b"ARROW1"
    part: ClassVar[str] = "batch"

    def __init__(self, handle: IO[bytes] | pa.NativeFile) -> None:
        self._file = pa.ipc.open_file(handle)
        self.schema: pa.Schema = self._file.schema
        self.parts: int = self._file.num_record_batches

    def batches(self, part: int, rows: int) -> Iterator[pa.RecordBatch]:
        del rows
        yield self._file.get_batch(part)
