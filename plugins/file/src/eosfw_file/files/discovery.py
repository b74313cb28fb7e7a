"""Find the files that the property `file` names."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import Problem
from eosfw_file.files import bounded_glob, compressed_file, file_systems, rotated_files, signature

if TYPE_CHECKING:
    from eosfw_file.files.file_systems import FileSystems

PROPERTY = "file"


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Absolute paths in a stable order, and the problems that keep them from being read."""

    paths: Sequence[str]
    problems: Sequence[Problem]


def find(
    file: str,
    systems: FileSystems | None = None,
    *,
    completed: str | None = None,
    may_be_none: bool = False,
    rotates: bool = False,
) -> FoundFiles:
    """Find every file that a path, a URL, a glob, a folder or a comma-separated list of them names.

    Paths become absolute against the working directory; symbolic links keep their own name, since it names the source
    partition. Folders give the visible regular files directly in them. What lies in the folder `completed` was read
    before. That there are no files is a problem unless they `may_be_none`. Without `systems` no URL is looked at. If it
    `rotates`, files that one was rotated to are left out, and one that is named may be missing.
    """
    paths: list[str] = []
    problems: list[Problem] = []
    for item in items(file):
        if systems is None and file_systems.is_url(item):
            continue
        try:
            found = sorted(_expand(item, systems)) or (_rotated_only(item) if rotates else [])
        except bounded_glob.TooManyNamesError:
            problems.append(Problem(PROPERTY, _too_many(item)))
            continue
        paths += found
        if not found and not may_be_none:
            problems.append(Problem(PROPERTY, _nothing_found(item)))
    unique = [path for path in dict.fromkeys(paths) if not _lies_in(path, completed)]
    if rotates:
        unique = _without_rotated(unique)
    kernel = bounded_glob.kernel_devices()
    local = [path for path in unique if not file_systems.is_url(path)]
    problems += [Problem(PROPERTY, what) for path in local if (what := _unwritable(path) or _unreadable(path, kernel))]
    problems += [Problem(PROPERTY, what) for what in _same_twice(local)]
    return FoundFiles(unique, problems)


def identified(paths: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Paths with the inodes of their files, those that exist."""
    for path in paths:
        with suppress(FileNotFoundError):
            yield path, 0 if file_systems.is_url(path) else os.stat(path).st_ino


def _rotated_only(item: str) -> list[str]:
    """The path that is named, if it was rotated and not begun anew yet."""
    path = os.path.abspath(os.path.expanduser(item))
    return [path] if rotated_files.rotated_files(path) else []


def _without_rotated(paths: Sequence[str]) -> list[str]:
    """The paths that no other one gets by rotation."""
    names: dict[str, set[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        names.setdefault(folder, set()).add(name)
    return [
        path
        for path in paths
        if not rotated_files.belongs_to_another(os.path.basename(path), names[os.path.dirname(path)])
    ]


def immovable(paths: Iterable[str], folder: str | None) -> Iterator[Problem]:
    """What keeps files from being moved to a folder, or from being deleted without one."""
    device = None if folder is None or file_systems.is_url(folder) else _device(folder)
    for path in paths:
        if folder is not None and _scheme(path) != _scheme(folder):
            what = f"{folder} is in another file system than {path}; name a folder in the same one"
            yield Problem("after.commit.folder", what)
        elif file_systems.is_url(path):
            continue
        elif os.path.islink(path):
            what = f"{path} is a symbolic link, which after.commit neither moves nor deletes; name the file itself"
            yield Problem(PROPERTY, what)
        elif device not in (None, _device(path)):
            what = f"{folder} is on another file system than {path}; name a folder on the same one"
            yield Problem("after.commit.folder", what)


def _scheme(path: str) -> str:
    return path.partition(":")[0] if file_systems.is_url(path) else ""


def _device(path: str) -> int:
    """The device of a path, or of the folder in which it will be."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev


def _lies_in(path: str, folder: str | None) -> bool:
    return folder is not None and path.startswith(os.path.join(folder, ""))


def items(file: str) -> Sequence[str]:
    """The paths, URLs, globs and folders of the property, which commas separate."""
    if os.path.lexists(file):  # a single file whose name has a comma
        return [file]
    return [item.strip().removeprefix("file://") for item in file.split(",") if item.strip()]


def _expand(item: str, systems: FileSystems | None) -> Iterable[str]:
    if systems is not None and file_systems.is_url(item):
        location = systems.location(item)
        with file_systems.translated(item):
            return [found.url for found in location.files()]
    path = os.path.abspath(os.path.expanduser(item))
    if os.path.isdir(path):
        return _visible_files(path)
    if os.path.lexists(path):
        return [path]
    return bounded_glob.expand(path)


def _visible_files(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and bounded_glob.is_kind(entry.is_file):
                    yield entry.path
    except PermissionError:
        return


def _nothing_found(item: str) -> str:
    if file_systems.is_url(item):
        return f"there is no file {item}; correct the URL"
    if os.path.isdir(os.path.expanduser(item)):
        return f"the folder {item!r} holds no files that can be seen; put some there, or name another folder"
    if glob.has_magic(item):
        hint = ", but not in /proc and /sys, which the kernel makes up" if "**" in item else ""
        return f"no file matches {item!r} (looked in {os.getcwd()}{hint}); correct the pattern"
    return f"there is no file {item!r} (looked in {os.getcwd()}); create it or correct the path"


def _too_many(item: str) -> str:
    most = f"{bounded_glob.MAX_NAMES:,} names"
    return f"{item!r} goes over more than {most}; name a folder further down, or use fewer wildcards"


def _unwritable(path: str) -> str | None:
    if path == path.encode(errors="replace").decode():
        return None
    return f"{path!a} has a name that is not UTF-8, which no source offset can hold; rename it"


def _unreadable(path: str, kernel: Collection[int]) -> str | None:
    try:
        found = os.stat(path)
    except OSError as why:
        if not os.path.lexists(path):  # it was moved or deleted just now
            return None
        return f"cannot look at {path}: {why.strerror}"
    if not stat.S_ISREG(found.st_mode):
        return f"{path} is not a regular file; the connector needs one it can read again from any position"
    if not os.access(path, os.R_OK):
        return f"{path} may not be read by this user; change its permissions"
    if found.st_dev in kernel:
        return f"{path} is made up by the kernel as it is read; the connector needs a file that stays as it is"
    return _unreadable_content(path)


def _unreadable_content(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            head = file.read(signature.SIGNATURE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as why:
        return f"cannot read {path}: {why.strerror}"
    kind = signature.compression(head)
    what = signature.reason_unreadable(head) if kind is None else compressed_file.missing_library(kind)
    return what and f"{path} {what}"


def _same_twice(paths: Iterable[str]) -> Iterator[str]:
    seen: dict[tuple[int, int], str] = {}
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            continue
        first = seen.setdefault((found.st_dev, found.st_ino), path)
        if first != path:
            yield f"{first} and {path} are one file (a link); name it once, or its lines would appear twice"
