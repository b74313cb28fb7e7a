"""Record a broker's changes to its directory; generate the possible disk states after a crash of the machine.

In the manner of ALICE (Pillai et al., OSDI 2014): whatever was written, renamed, made or removed since the last wait
for that file, or for that directory, may be there or not, whatever came later; of a write any part may be missing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from eosfw_memory.storage.files.disk import OperatingSystem
from eosfw_memory.storage.files.lock_file import LOCK

FOLDER = -1
"""What a name in a directory stands for, if not for a file by its number."""
_LONGEST_PATH = 1024
"""Bytes; `MAXPATHLEN` of macOS."""


class Step(NamedTuple):
    """One change of the disk, or one fsync."""

    kind: str
    folder: str
    name: str = ""
    file: int = FOLDER
    at: int = 0
    data: bytes = b""
    since: int = 0
    """Of a wait: how many steps were made before it began."""
    old: str = ""


class State(NamedTuple):
    """What is on a disk: files by their names, directories."""

    files: dict[str, bytes]
    folders: frozenset[str]

    def write(self, root: Path) -> None:
        """Make a directory that has the state, and a lock file."""
        root.mkdir()
        (root / LOCK).touch()
        self.replace(root)

    def replace(self, root: Path) -> None:
        """Give a directory this state instead of its own; the lock file stays, as on the disk of the same machine."""
        for path in root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
        for folder in sorted(self.folders):
            (root / folder).mkdir()
        for name, content in self.files.items():
            (root / name).write_bytes(content)


class RecordingSystem(OperatingSystem):
    """Performs and records every change; fsync is recorded only, since this machine does not crash."""

    def __init__(self) -> None:
        self.root = Path()
        self.steps: list[Step] = []
        self.during: Callable[[], None] = lambda: None
        """Called in the midst of each wait for a file."""
        self.before: Callable[[], None] = lambda: None
        """Called before each step."""
        self._by_inode: dict[int, tuple[str, str, int]] = {}
        """Folder, name and number of each file by its inode: to ask for them takes longer than a write."""
        self._made = 0

    def write(self, descriptor: int, pieces: Sequence[bytes | memoryview], at: int) -> int:
        written = super().write(descriptor, pieces, at)
        self._add("write", *self.recorded_file(descriptor), at=at, data=b"".join(pieces)[:written])
        return written

    def truncate(self, descriptor: int, size: int) -> None:
        super().truncate(descriptor, size)
        self._add("truncate", *self.recorded_file(descriptor), at=size)

    def sync(self, descriptor: int) -> None:
        folder, name, file = self.recorded_file(descriptor)
        since = len(self.steps)
        self.during()
        self._add("sync", folder, name, file, since=since)

    def rename(self, old: Path, new: Path) -> None:
        self._forget(new)
        number, place = self._number(old), self._place(new)
        self._add("rename", *place, number, old=old.name)
        super().rename(old, new)
        self._by_inode[new.stat().st_ino] = (*place, number)

    def remove(self, path: Path) -> None:
        self._forget(path)
        super().remove(path)
        self._add("remove", *self._place(path))

    def make_directory(self, path: Path) -> None:
        super().make_directory(path)
        self._add("make", *self._place(path))

    def remove_directory(self, path: Path) -> None:
        for each in sorted(path.iterdir()):
            self.remove(each)
        path.rmdir()
        self._add("remove", *self._place(path))

    def sync_directory(self, path: Path) -> None:
        with os.scandir(path) as entries:
            new = [one.name for one in entries if one.stat().st_ino not in self._by_inode and one.is_file()]
        for name in sorted(new):
            if name != LOCK:
                self._number(path / name)
        self._add("sync folder", self._name(path), since=len(self.steps))

    def adopt(self, root: Path) -> list[tuple[str, str, int]]:
        """Register existing files; return folder, name and number of each."""
        self.root, found = root, []
        for path in sorted(each for each in root.rglob("*") if each.is_file() and each.name != LOCK):
            known = self._by_inode[path.stat().st_ino] = (*self._place(path), self._made)
            found.append(known)
            self._made += 1
        return found

    def _add(self, kind: str, folder: str, name: str = "", file: int = FOLDER, **more: Any) -> None:
        self.before()
        self.steps.append(Step(kind, folder, name, file, **more))

    def recorded_file(self, descriptor: int) -> tuple[str, str, int]:
        """Folder, name and number of an open file."""
        known = self._by_inode.get(os.fstat(descriptor).st_ino)
        if known is None:
            path = _path_of(descriptor)
            known = (*self._place(path), self._number(path))
        return known

    def file_name(self, descriptor: int) -> str:
        """The name of an open file, which nothing need have recorded yet."""
        known = self._by_inode.get(os.fstat(descriptor).st_ino)
        return _path_of(descriptor).name if known is None else known[1]

    def _number(self, path: Path) -> int:
        inode = path.stat().st_ino
        if inode not in self._by_inode:
            known = self._by_inode[inode] = (*self._place(path), self._made)
            self._made += 1
            self._add("create", *known)
        return self._by_inode[inode][2]

    def _forget(self, path: Path) -> None:
        if path.exists():
            self._by_inode.pop(path.stat().st_ino, None)

    def _place(self, path: Path) -> tuple[str, str]:
        return self._name(path.parent), path.name

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root))


class Volume:
    """The certain and the uncertain content of the disk after some steps."""

    def __init__(self) -> None:
        self._files: dict[int, tuple[bytes, list[tuple[int, Step]]]] = {}
        self._folders: dict[str, tuple[dict[str, int], list[tuple[int, Step]]]] = {".": ({}, [])}
        self._steps = 0

    @classmethod
    def of(cls, root: Path, files: list[tuple[str, str, int]]) -> Volume:
        """A volume on which the whole content of a directory is certain."""
        made = cls()
        for path in root.iterdir():
            if path.is_dir():
                made._folders["."][0][path.name] = FOLDER
                made._folders[path.name] = ({}, [])
        for folder, name, number in files:
            made._folders[folder][0][name] = number
            made._files[number] = ((root / folder / name).read_bytes(), [])
        return made

    def take(self, step: Step) -> None:
        """Apply one more step."""
        at, self._steps = self._steps, self._steps + 1
        if step.kind in ("write", "truncate"):
            self._files[step.file][1].append((at, step))
        elif step.kind == "sync":
            certain, maybe = self._files[step.file]
            done = [each for each in maybe if each[0] < step.since]
            self._files[step.file] = (_content(certain, done), maybe[len(done) :])
        elif step.kind == "sync folder":
            names, waiting = self._folders[step.folder]
            done = [each for each in waiting if each[0] < step.since]
            self._folders[step.folder] = (_names(names, done), waiting[len(done) :])
        else:
            self._folders[step.folder][1].append((at, step))
            if step.kind == "create":
                self._files[step.file] = (b"", [])
            elif step.kind == "make":
                self._folders[step.name] = ({}, [])

    def drop(self, file: int, random: Random, chances: Sequence[float]) -> None:
        """Keep some of what an fsync was to confirm of a file that has failed; no later one confirms the rest."""
        certain, maybe = self._files[file]
        self._files[file] = (_content(certain, _drawn(maybe, random, chances)), [])

    def content(self, file: int) -> bytes:
        """What is in a file once all that can still be written is written."""
        return _content(*self._files[file])

    def state(self, kept: dict[int, Step | None] | None = None) -> State:
        """What is there if of the uncertain steps these are kept, all if none are named; a step may be kept in part."""

        def chosen(steps: list[tuple[int, Step]]) -> list[tuple[int, Step]]:
            if kept is None:
                return steps
            return [(at, kept[at] or step) for at, step in steps if at in kept]

        files: dict[str, bytes] = {}
        folders: set[str] = set()
        top = _names(self._folders["."][0], chosen(self._folders["."][1]))
        for name, number in top.items():
            if number != FOLDER:
                files[name] = _content(self._files[number][0], chosen(self._files[number][1]))
                continue
            folders.add(name)
            certain, waiting = self._folders[name]
            for inner, file in _names(certain, chosen(waiting)).items():
                files[f"{name}/{inner}"] = _content(self._files[file][0], chosen(self._files[file][1]))
        return State(files, frozenset(folders))

    def uncertain(self) -> list[tuple[int, Step]]:
        """The steps that no fsync has confirmed, in order."""
        every = [each for _, waiting in (*self._files.values(), *self._folders.values()) for each in waiting]
        return sorted(every)

    def states(self, random: Random, subsets: int) -> Iterator[State]:
        """Everything kept, everything lost; each step lost or kept alone; so many sets at random, with torn writes."""
        steps = self.uncertain()
        yield self.state()
        if not steps:
            return
        yield self.state({})
        for at, _ in steps[-subsets:]:
            yield self.state({at: None})
            yield self.state({other: None for other, _ in steps if other != at})
        for _ in range(subsets):
            yield self.drawn_state(random, (0.2, 0.5, 0.8))

    def drawn_state(self, random: Random, chances: Sequence[float]) -> State:
        """A set of the uncertain steps at random, with torn writes; each step is kept with one of the chances."""
        return self.state(dict(_drawn(self.uncertain(), random, chances)))


def _path_of(descriptor: int) -> Path:
    """Where an open file lies."""
    if sys.platform == "darwin":
        path = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0")
    else:
        path = os.readlink(f"/proc/self/fd/{descriptor}".encode())
    return Path(os.fsdecode(path))


def _drawn(steps: list[tuple[int, Step]], random: Random, chances: Sequence[float]) -> list[tuple[int, Step]]:
    """Some of the steps, some in part."""
    chance = chances[_below(random, len(chances))]
    return [(at, _torn(step, random)) for at, step in steps if random.random() < chance]


def _torn(step: Step, random: Random) -> Step:
    """A part of a write: its beginning, its end, or all but its middle; or the whole."""
    if step.kind != "write" or not step.data or random.random() < 0.5:
        return step
    first, second = sorted((_below(random, len(step.data) + 1), _below(random, len(step.data) + 1)))
    shape = _below(random, 3)
    if shape == 0:
        return step._replace(data=step.data[:first])
    if shape == 1:
        return step._replace(data=step.data[first:], at=step.at + first)
    return step._replace(data=step.data[:first] + bytes(second - first) + step.data[second:])


def _below(random: Random, limit: int) -> int:
    """A whole number less than the limit; by `random()` alone, whose results are the same in every Python."""
    return int(random.random() * limit)


def _content(certain: bytes, steps: list[tuple[int, Step]]) -> bytes:
    if not steps:
        return certain
    content = bytearray(certain)
    for _, step in steps:
        if step.kind == "truncate":
            del content[step.at :]
            content.extend(bytes(step.at - len(content)))
        else:
            content.extend(bytes(max(0, step.at - len(content))))
            content[step.at : step.at + len(step.data)] = step.data
    return bytes(content)


def _names(certain: dict[str, int], steps: list[tuple[int, Step]]) -> dict[str, int]:
    names = dict(certain)
    for _, step in steps:
        if step.kind == "remove":
            names.pop(step.name, None)
        else:
            names[step.name] = step.file
            if step.kind == "rename":
                names.pop(step.old, None)
    return names
