"""The machine of an embedded broker, whose power a fault cuts: what no fsync confirmed is lost, torn or reordered."""

from __future__ import annotations

import errno
from math import inf
from pathlib import Path
from random import Random
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.errors import DamagedDataError
from eosfw_memory.faults.recorded_disk import RecordingSystem, Volume
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.storage.files.data_directory import DataDirectory

_OFF: Final = "the power is off"
_KEPT: Final = (0.0, 0.2, 0.5, 0.8, 1.0)
"""With which probability each unconfirmed step is on the disk after a cut."""
_LONGEST_SYNC: Final = (0.001, 0.02, 0.3)
"""Seconds that an fsync takes at most, from one start to the next; most take much less."""
_RECOVERY: Final = 32
"""Within so many changes of the disk a start is cut short; many make fewer."""


class _PoweredSystem(RecordingSystem):
    """The operating system from one start of the machine to the next cut."""

    def __init__(self, root: Path, boot: int, runtime: Runtime, random: Random) -> None:
        super().__init__()
        self.off = False
        self.left = inf
        """How many more changes the disk takes before the power is cut."""
        self._boot, self._runtime, self._random = boot, runtime, random
        self._longest_sync = _LONGEST_SYNC[int(random.random() * len(_LONGEST_SYNC))]
        self.volume = Volume.of(root, self.adopt(root))
        self.during = self._take_time
        self.before = self._refuse_if_off

    def boot_id(self) -> bytes:
        return b"start %d\n" % self._boot

    def file_system(self, path: Path) -> str:
        return ""

    def _take_time(self) -> None:
        self._runtime.sleep(self._longest_sync * self._random.random() ** 3)

    def _refuse_if_off(self) -> None:
        self.left -= 1
        self.off = self.off or self.left < 0
        if self.off:
            raise OSError(errno.EIO, _OFF)


class Machine:
    """Keeps the data directory of a broker on a disk that has, after a cut, what a seed draws."""

    def __init__(self, root: Path, seed: str, runtime: Runtime) -> None:
        self._root, self._runtime = root, runtime
        self._random = Random(seed)  # noqa: S311 - repeatable on purpose, no secret
        self._boots = 0
        self._system: _PoweredSystem | None = None

    def start(self) -> DataDirectory:
        """Boot, and recover the directory."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._boots += 1
        self._system = _PoweredSystem(self._root, self._boots, self._runtime, self._random)
        return self._open(self._system)

    def cut_short(self) -> bool:
        """Start, and lose power once more, mostly before the directory is recovered; tell whether it was before."""
        self._boots += 1
        system = _PoweredSystem(self._root, self._boots, self._runtime, self._random)
        system.left = int(self._random.random() * _RECOVERY)
        try:
            self._open(system).release()
        except DamagedDataError:
            if not system.off:
                raise
        within, system.off = system.off, True
        self._lose(system)
        return within

    def _open(self, system: _PoweredSystem) -> DataDirectory:
        return DataDirectory.open(self._root, waits=True, node_id=NODE_ID, system=system)

    def cut_power(self, broker: Broker) -> None:
        """End a broker on the spot, and leave on the disk what fsync confirmed, and of the rest what is drawn."""
        system, storage = self._system, broker.storage
        assert system is not None
        assert isinstance(storage, DataDirectory)
        broker.halt()
        system.off, storage.disk.failed = True, _OFF
        storage.close(broker.topics.logs())  # nothing is written any more: only files are closed
        self._lose(system)

    def _lose(self, system: _PoweredSystem) -> None:
        """Leave on the disk what was confirmed since the boot, and of the rest what is drawn."""
        for step in system.steps:
            system.volume.take(step)
        system.volume.drawn_state(self._random, _KEPT).replace(self._root)
