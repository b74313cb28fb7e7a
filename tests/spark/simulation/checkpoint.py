"""The checkpoint of a simulated query: what Spark keeps of each batch, in a folder as Spark's."""

from __future__ import annotations

import json
from pathlib import Path


class ConcurrentUpdateError(Exception):
    """Another driver has written this entry, as `SparkConcurrentModificationException` says."""


class Checkpoint:
    """Entries are created atomically, and never replaced (Spark's `HDFSMetadataLog`)."""

    def __init__(self, folder: Path, query: str) -> None:
        self.folder = folder
        for name in ("offsets", "commits"):
            (folder / name).mkdir(parents=True)
        (folder / "metadata").write_text(json.dumps({"id": query}))

    def last(self, log: str) -> int:
        """The last batch that has an entry; -1 if none has."""
        return max((int(each.name) for each in (self.folder / log).iterdir()), default=-1)

    def add(self, log: str, batch: int) -> None:
        """Add the entry of a batch; ConcurrentUpdateError if it is there."""
        try:
            (self.folder / log / str(batch)).touch(exist_ok=False)
        except FileExistsError:
            raise ConcurrentUpdateError(f"{log}/{batch} is there: two drivers use one checkpoint") from None
