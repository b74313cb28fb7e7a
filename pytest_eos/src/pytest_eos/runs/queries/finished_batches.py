"""The finished batches of a folder that a streaming query writes (Spark's `FileStreamSinkLog`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

LOG = "_spark_metadata"


def batches_of_files(folder: Path) -> Mapping[str, int]:
    """The batch of each file by the file's name; a compacted entry has lost the batches of its files."""
    known: dict[str, int] = {}
    for entry in sorted((folder / LOG).glob("[0-9]*"), key=lambda one: one.name):
        if entry.name.isdigit():
            known.update(dict.fromkeys(_added(entry), int(entry.name)))
    return known


def _added(entry: Path) -> Iterator[str]:
    for line in entry.read_text(encoding="utf-8").splitlines()[1:]:
        action = json.loads(line)
        if action.get("action") == "add":
            yield unquote(action["path"].rpartition("/")[2])
