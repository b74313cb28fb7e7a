"""Give producer ids away, each once: Kafka's `ProducerIdManager`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.files.checksum_line import read_checked, with_checksum
from eosfw_memory.storage.files.disk import Disk
from eosfw_memory.storage.files.topic_storage import FIRST_PRODUCER_ID

PRODUCER_IDS: Final = "producer-ids"
_BLOCK: Final = 1000
_GIVEN_SINCE_A_COPY: Final = 1_000_000_000
"""More than were given away since a directory was copied; there are enough of them."""


class ProducerIds:
    """Counts in blocks: a block is on the disk before its first id is given away, so a crash skips ids at worst.

    A class, since a generator would end with the first block that cannot be written.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._path = disk.root / PRODUCER_IDS
        self._next = self._end = next_producer_id(self._path) if self._path.exists() else FIRST_PRODUCER_ID

    def begin(self, *, leap: bool) -> None:
        """Save where to begin; with `leap` above all ids that may have been given away since the directory was copied.

        The file is there from the first start on, so that one that is gone can be told from one that was never needed.
        """
        start = self._end + _GIVEN_SINCE_A_COPY if leap else self._end
        if leap or not self._path.exists():
            self._write(start)
        self._next = self._end = start

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> int:
        if self._next == self._end:
            self._write(self._end + _BLOCK)
            self._end += _BLOCK
        given, self._next = self._next, self._next + 1
        return given

    def _write(self, number: int) -> None:
        self._disk.replace(self._path, with_checksum(b"%d\n" % number), durable=True)


def next_producer_id(path: Path) -> int:
    """What the file says; raises DamagedDataError when it says nothing."""
    try:
        return int(read_checked(path))
    except ValueError as why:
        raise DamagedDataError(f"{path}: holds no number: write one above every producer id that was used") from why
