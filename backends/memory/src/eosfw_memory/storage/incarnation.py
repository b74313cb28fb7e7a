"""Count how often a data directory was served: each start leads every partition in leader epochs of its own."""

from __future__ import annotations

from typing import Final

from eosfw.errors import DamagedDataError
from eosfw_memory.log.epochs import EPOCHS_A_START
from eosfw_memory.storage.disk import Disk

NAME: Final = "incarnation"


class Incarnation:
    """The number of the present start, on the disk before anything is written in it."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._path = disk.root / NAME
        self.number = self._read()

    def begin(self) -> None:
        """Begin the next one; raises KafkaStorageError, with nothing changed, when it cannot be kept."""
        self._disk.replace(self._path, b"%d\n" % (self.number + 1), durable=True)
        self.number += 1

    def leader_epoch(self, born: int) -> int:
        """That of a partition whose topic was made in an earlier start, or in this one."""
        return (self.number - born) * EPOCHS_A_START

    def _read(self) -> int:
        try:
            return int(self._path.read_text())
        except FileNotFoundError:
            return 0
        except ValueError as why:
            raise DamagedDataError(
                f'{self._path}: holds no number: write one not below any "born" in topics.json, nor below half the '
                "largest leader epoch of any batch"
            ) from why
