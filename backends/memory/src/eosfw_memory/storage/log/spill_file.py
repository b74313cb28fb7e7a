"""A file without a name, for batches that exceed the memory of a broker."""

from __future__ import annotations

import os
import tempfile

from eosfw_memory.common.log_errors import KafkaStorageError


class SpillFile:
    """Lies in the directory for temporary files; it is gone with the process, however that ends.

    Raises KafkaStorageError when the system refuses a call.
    """

    def __init__(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(prefix="eosfw-", buffering=0)  # noqa: SIM115 - open as long as its log
        except OSError as why:
            raise _refused(why) from why

    def write(self, data: bytes, at: int) -> None:
        """Write at a position."""
        written = 0
        try:
            while written < len(data):  # the system may take a part, and say why only when it is given the rest
                written += os.pwrite(self._file.fileno(), memoryview(data)[written:], at + written)
        except OSError as why:
            raise _refused(why) from why

    def read(self, start: int, end: int) -> bytes:
        """The bytes from one position to another, which were written."""
        try:
            return os.pread(self._file.fileno(), end - start, start)
        except OSError as why:
            raise _refused(why) from why

    def close(self) -> None:
        """Give its room back to the system."""
        self._file.close()


def _refused(why: OSError) -> KafkaStorageError:
    return KafkaStorageError(
        f"records that exceed the broker's memory cannot be kept in {tempfile.gettempdir()}: {why.strerror}: make room "
        f"there, name another directory in TMPDIR, or raise eosfw.log.memory.bytes"
    )
