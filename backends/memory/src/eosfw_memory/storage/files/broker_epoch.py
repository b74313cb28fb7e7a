"""Count the starts on a data directory, and notice when the directory is an older copy. Kafka's broker epoch.

Each start leads every partition in leader epochs of its own. A start also touches the lock file and saves its inode and
change time, which no copy, archive or restore can set. Where they differ later, the directory came from a copy, and
there may be clients that saw records which the copy lacks. A restored snapshot of the whole file system is not noticed.
"""

from __future__ import annotations

import os
import re
from typing import Final

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.files.checksum_line import read_checked, with_checksum
from eosfw_memory.storage.files.disk import Disk
from eosfw_memory.storage.files.lock_file import LOCK
from eosfw_memory.storage.log.leader_epochs import LEADER_EPOCHS_PER_START

NAME: Final = "incarnation"
_STARTS_SINCE_A_COPY: Final = 1000
"""More starts than there can have been, so that no leader epoch is used twice."""
_LINES: Final = re.compile(r"number=(?P<number>[0-9]+)\nlock=(?P<lock>[0-9:]*)\nrestored=(?P<restored>true|false)\n")


class BrokerEpoch:
    """The number of this start; it is on the disk before anything else is written."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._path = disk.root / NAME
        kept = self._read()
        self.number = int(kept["number"])
        self.restored = kept["restored"] == "true" or kept["lock"] not in ("", self._lock())
        """Whether this is an older copy, so that clients may have seen more, until `producers_fenced`."""

    def begin(self) -> None:
        """Count a start; raises KafkaStorageError, with nothing changed, when it cannot be saved."""
        number = self.number + (_STARTS_SINCE_A_COPY if self.restored else 1)
        # The touch below sets the change time of the lock file, by which a copy of an earlier state is told apart. A
        # crash between the touch and its record must not leave what looks like a copy.
        self._write(number, lock="")
        os.utime(self._disk.root / LOCK)
        self._write(number, self._lock())

    def producers_fenced(self) -> None:
        """Save that the producers which may have seen more are fenced."""
        self.restored = False
        self._write(self.number, self._lock())

    def leader_epoch(self, broker_epoch: int) -> int:
        """The leader epoch of a partition whose topic was created in an earlier start, or in this one."""
        return (self.number - broker_epoch) * LEADER_EPOCHS_PER_START

    def _write(self, number: int, lock: str) -> None:
        restored = "true" if self.restored else "false"
        lines = (f"number={number}", f"lock={lock}", f"restored={restored}", "")
        self._disk.replace(self._path, with_checksum("\n".join(lines).encode()), durable=True)
        self.number = number

    def _lock(self) -> str:
        found = (self._disk.root / LOCK).stat()
        return f"{found.st_ino}:{found.st_ctime_ns}"

    def _read(self) -> dict[str, str]:
        if not self._path.exists():
            return {"number": "0", "lock": "", "restored": "false"}
        kept = _LINES.fullmatch(read_checked(self._path).decode(errors="replace"))
        if kept is None:
            raise DamagedDataError(f"{self._path}: cannot be read: restore the file from a copy")
        return kept.groupdict()
