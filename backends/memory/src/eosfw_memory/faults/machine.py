"""The machine of an embedded broker, whose power a fault cuts: what no fsync confirmed is lost, torn or reordered."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random
from typing import Final

from eosfw.concurrency import Runtime
from eosfw_memory.faults.recorded_disk import RecordingSystem, Volume
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.storage.files.data_directory import DataDirectory

_OFF: Final = "the power is off"
_KEPT: Final = (0.0, 0.2, 0.5, 0.8, 1.0)
"""With which probability each unconfirmed step is on the disk after a cut."""
_LONGEST_SYNC: Final = (0.001, 0.02, 0.3)
"""Seconds that an fsync takes at most, from one start to the next; most take much less."""


class _PoweredSystem(RecordingSystem):
    """The operating system from one start of the machine to the next cut."""

    def __init__(self, root: Path, boot: int, runtime: Runtime, random: Random) -> None:
        super().__init__()
        self.off = False
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
        if self.off:
            raise OSError(errno.EIO, _OFF)


class Machine:
    """Keeps the data directory of a broker on a disk that has, after a cut, what a seed draws."""

    def __init__(self, root: Path, seed: str, runtime: Runtime) -> None:
        self._root, self._runtime = root, runtime
        self._random = Random(seed)  # noqa: S311 - repeatable on purpose, no secret
        self._starts = 0
        self._system: _PoweredSystem | None = None

    def start(self) -> DataDirectory:
        """Recover the directory, as after the start of a machine."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._starts += 1
        self._system = _PoweredSystem(self._root, self._starts, self._runtime, self._random)
        return DataDirectory.open(self._root, waits=True, node_id=NODE_ID, system=self._system)

    def cut_power(self, broker: Broker) -> None:
        """End a broker on the spot, and leave on the disk what fsync confirmed, and of the rest what is drawn."""
        system, storage = self._system, broker.storage
        assert system is not None
        assert isinstance(storage, DataDirectory)
        broker.halt()
        system.off, storage.disk.failed = True, _OFF
        storage.close(broker.topics.logs())  # nothing is written any more: only files are closed
        for step in system.steps:
            system.volume.take(step)
        system.volume.drawn_state(self._random, _KEPT).replace(self._root)
