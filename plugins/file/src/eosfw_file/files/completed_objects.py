"""Move or delete files of file systems of fsspec whose last record was committed."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from eosfw_file.files.file_systems import FileSystems, Location, translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eosfw_file.files.source_file import SourceFile


class CompletedObjects:
    """Takes files out of the way; most such file systems copy a file, then delete it, when it is moved.

    They take no condition with it: of two tasks that do it at once each may find the file first. The second fails to,
    unless another file has got the old name between its look at the version and its call.
    """

    def __init__(self, systems: FileSystems, folder: str | None) -> None:
        self._systems, self._folder = systems, folder

    def exists(self, path: str) -> bool:
        """Whether there is a file under the name."""
        location = self._systems.location(path)
        with translated(path):
            return location.info() is not None

    def remove(self, file: SourceFile, version: str) -> None:
        """Move or delete the file, if it is still that which was read."""
        location = self._systems.location(file.path)
        with translated(file.path):
            found = location.info()
            if found is None or found.version != version:
                return
            if self._folder is None:
                location.system.rm_file(location.path)
            else:
                location.system.mv(location.path, self._target(location).path)

    def _target(self, location: Location) -> Location:
        folder = self._systems.location(f"{self._folder}/{os.path.basename(location.path)}")
        folder.system.makedirs(os.path.dirname(folder.path), exist_ok=True)
        return next(one for name in _names(folder.path) if (one := folder.at(name)).info() is None)


def _names(path: str) -> Iterator[str]:
    """The path, then others if files with that name were moved before."""
    yield path
    stem, suffix = os.path.splitext(path)
    number = 0
    while True:
        number += 1
        yield f"{stem}-{number}{suffix}"
