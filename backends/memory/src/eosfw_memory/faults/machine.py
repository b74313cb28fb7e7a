"""The machine of an embedded broker, whose power a fault cuts: what no fsync confirmed is lost, torn or reordered."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from random import Random
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.errors import DamagedDataError
from eosfw_memory.common.log_errors import LogError
from eosfw_memory.faults.held_data import HeldData
from eosfw_memory.faults.recorded_disk import RecordingSystem, Volume
from eosfw_memory.faults.wrong_bytes import damage
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.topics.topic import Topics

_OFF: Final = "the power is off"
_KILLED: Final = "its broker was killed"
_NEED_ROOM: Final = ("write", "create")
"""The calls of a disk that fail on a full one."""
_KEPT: Final = (0.0, 0.2, 0.5, 0.8, 1.0)
"""With which probability each unconfirmed step is on the disk after a cut."""
_LONGEST_SYNC: Final = (0.001, 0.02, 0.3)
"""Seconds that an fsync takes at most, from one start to the next; most take much less."""
_A_MOMENT: Final = 0.001
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
        self.fault_at: Callable[[str, str], str | None] = lambda *_: None
        """Is asked before each call of the disk for the error it ends with."""
        self.full = False
        self.syncing = 0
        """How many calls wait for the disk."""
        self.errors = 0
        """How many calls have failed because of a fault, not counting those that follow on a full disk."""
        self._taken = 0
        """How many steps the volume has taken."""
        self._dropped: dict[Path, int] = {}
        """The files whose fsync failed, by number; of each the system's memory may hold more than the disk."""
        self.volume = Volume.of(root, self.adopt(root))
        self.during = self._take_time
        self.before = self._refuse_if_off

    def boot_id(self) -> bytes:
        return b"start %d\n" % self._boot

    def file_system(self, path: Path) -> str:
        return ""

    def write(self, descriptor: int, pieces: Sequence[bytes | memoryview], at: int) -> int:
        was_full = self.full
        code = self._code("write", self.file_name(descriptor))
        if code is None:
            return super().write(descriptor, pieces, at)
        whole = b"".join(pieces)
        part = 0 if was_full else int(self._random.random() * len(whole))
        if part:
            super().write(descriptor, [whole[:part]], at)
            if code == "ENOSPC":
                return part
        raise _error(code)

    def sync(self, descriptor: int) -> None:
        self.syncing += 1
        try:
            self._sync(descriptor)
        finally:
            self.syncing -= 1

    def _sync(self, descriptor: int) -> None:
        code = self._code("fsync", self.file_name(descriptor))
        if code is None:
            super().sync(descriptor)
            return
        self._take_time()
        folder, name, file = self.recorded_file(descriptor)
        self.confirmed().drop(file, self._random, _KEPT)
        self._dropped[self.root / folder / name] = file
        raise _error(code)

    def sync_directory(self, path: Path) -> None:
        self._raise("fsync", path)
        super().sync_directory(path)

    def rename(self, old: Path, new: Path) -> None:
        self._raise("rename", new)
        super().rename(old, new)

    def make_directory(self, path: Path) -> None:
        self._raise("create", path)
        super().make_directory(path)

    def confirmed(self) -> Volume:
        """The disk after every step so far."""
        for step in self.steps[self._taken :]:
            self.volume.take(step)
        self._taken = len(self.steps)
        return self.volume

    def forget_some(self) -> None:
        """Of some files whose fsync failed read from now on what the disk has."""
        volume = self.confirmed()
        for path, number in self._dropped.items():
            if path.exists() and self._random.random() < 0.5:
                with path.open("r+b") as file:
                    file.write(volume.content(number))
                    file.truncate()
        self._dropped.clear()

    def _raise(self, call: str, path: Path) -> None:
        code = self._code(call, path.name)
        if code is not None:
            raise _error(code)

    def _code(self, call: str, name: str) -> str | None:
        if self.full and call in _NEED_ROOM:
            return "ENOSPC"
        code = self.fault_at(call, name)
        self.errors += code is not None
        self.full = self.full or code == "ENOSPC"
        return code

    def _take_time(self) -> None:
        self._runtime.sleep(self._longest_sync * self._random.random() ** 3)

    def _refuse_if_off(self) -> None:
        self.left -= 1
        self.off = self.off or self.left < 0
        if self.off:
            raise OSError(errno.EIO, _OFF)


def _error(code: str) -> OSError:
    number: int = getattr(errno, code)
    return OSError(number, os.strerror(number))


def _close(storage: DataDirectory, topics: Topics, why: str) -> None:
    """Close every file, and write nothing more."""
    storage.disk.failed = why
    storage.close(topics.logs())


class Machine:
    """Keeps the data directory of a broker on a disk that has, after a cut, what a seed draws."""

    def __init__(self, root: Path, seed: str, runtime: Runtime) -> None:
        self._root, self._runtime = root, runtime
        self._random = Random(seed)  # noqa: S311 - repeatable on purpose, no secret
        self.fault_at: Callable[[str, str], str | None] = lambda *_: None
        """Is asked before each call of the disk for the error it ends with."""
        self._boots = 0
        self._system: _PoweredSystem | None = None

    def start(self) -> DataDirectory:
        """Boot, and recover the directory."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._system = self._boot()
        return self._open(self._system)

    def start_again(self, broker: Broker) -> DataDirectory:
        """Kill a broker, and recover its directory on the machine as it is."""
        system = self._end(broker, _KILLED)
        system.forget_some()
        return self._open(system)

    def start_damaged(self, broker: Broker, file: str, how: str) -> tuple[DataDirectory, bool]:
        """Kill a broker, damage a file, and recover; tell whether that was refused until the file was restored.

        A start that is not refused is tried first: whoever reads every log then is refused, or reads what the broker
        held. After a failure of the disk nothing is damaged: the start expects gaps, of which it takes it for one.
        """
        trusted = not broker.describe_log_dir().failed
        held = HeldData.of(broker.topics) if trusted else None
        system = self._end(broker, _KILLED)
        done = damage(self._root, file, how, self._random) if trusted else None
        if done is None or held is None:
            return self._open(system), False
        try:
            self._read_all(self._open(system), held)
        except (DamagedDataError, LogError) as why:
            if str(done.path) not in str(why):
                raise
            done.undo()
            return self._open(system), True
        return self._open(system), False

    def _read_all(self, storage: DataDirectory, held: HeldData) -> None:
        """Read a directory as a broker does that is killed then."""
        topics = Topics(storage)
        try:
            held.check_kept(HeldData.of(topics))
        finally:
            _close(storage, topics, _KILLED)

    def make_room(self) -> None:
        """Let a full disk take writes again."""
        if self._system is not None:
            self._system.full = False

    def cut_short(self) -> bool:
        """Start, and lose power once more, mostly before the directory is recovered; tell whether it was before."""
        system = self._boot()
        system.left = int(self._random.random() * _RECOVERY)
        try:
            self._open(system).release()
        except DamagedDataError:
            if not system.off:
                raise
        within, system.off = system.off, True
        self._lose(system)
        return within

    def _boot(self) -> _PoweredSystem:
        self._boots += 1
        system = _PoweredSystem(self._root, self._boots, self._runtime, self._random)
        system.fault_at = self._fault_at
        return system

    def _fault_at(self, call: str, name: str) -> str | None:
        return self.fault_at(call, name)

    def _open(self, system: _PoweredSystem) -> DataDirectory:
        """Recover the directory; where the disk fails meanwhile, the operator starts the broker again."""
        while True:
            errors = system.errors
            try:
                return DataDirectory.open(self._root, waits=True, node_id=NODE_ID, system=system)
            except DamagedDataError:
                if system.off or system.errors == errors:
                    raise
                system.forget_some()

    def cut_power(self, broker: Broker) -> None:
        """End a broker on the spot, and leave on the disk what fsync confirmed, and of the rest what is drawn."""
        system = self._end(broker, _OFF)
        system.off = True
        self._lose(system)

    def _end(self, broker: Broker, why: str) -> _PoweredSystem:
        """End a broker on the spot."""
        system, storage = self._system, broker.storage
        assert system is not None
        assert isinstance(storage, DataDirectory)
        while why is _KILLED and system.syncing:  # no system lets go of a process before its fsync has returned
            self._runtime.sleep(_A_MOMENT)
        broker.halt()
        _close(storage, broker.topics, why)
        return system

    def _lose(self, system: _PoweredSystem) -> None:
        """Leave on the disk what was confirmed since the boot, and of the rest what is drawn."""
        system.confirmed().drawn_state(self._random, _KEPT).replace(self._root)
