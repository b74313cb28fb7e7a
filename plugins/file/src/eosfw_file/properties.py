"""The properties of the file connector; those that Kafka Connect has bear its names."""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from zoneinfo import ZoneInfo

from eosfw.config import Choice, ConfigDef, Int, Key, Long, Password, String
from eosfw_file.files.file_systems import is_url, storage_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eosfw.config import Config

COLUMN_FORMATS = ("parquet", "arrow")
PARTS = ("row_group", "batch")
"""What source offsets call the parts of files of columns."""
QUOTE = '"'
DEFAULT_POLL_INTERVAL_MS = 10_000
_LONGEST_LIST = 1 << 19
"""Characters of a list of paths that everybody can read: the record of a task's configuration has 1 MiB."""


@dataclass(frozen=True, slots=True)
class Delimiter(Key):
    r"""One character between columns, which may be a blank; `\t` stands for a tab."""

    trims: ClassVar[bool] = False

    def parse(self, text: str) -> str:
        character = "\t" if text == r"\t" else text
        if len(character) != 1 or character in f"{QUOTE}\r\n" or not character.isascii():
            raise ValueError(r"expected one ASCII character that is neither a quote nor a line end; \t is a tab")
        return character


@dataclass(frozen=True, slots=True)
class TimeZone(Key):
    """A time zone of the tz database, such as `UTC` or `Europe/Berlin`."""

    def parse(self, text: str) -> str:
        try:
            return ZoneInfo(text).key
        except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
            raise ValueError("expected a time zone such as UTC or Europe/Berlin") from None


@dataclass(frozen=True, slots=True)
class Paths(Key):
    """A JSON list of absolute paths, which the connector writes into its task configurations; packed if it is long."""

    def parse(self, text: str) -> tuple[str, ...]:
        paths = json.loads(text if text.startswith("[") else zlib.decompress(b64decode(text)))
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise ValueError("expected a JSON list of paths")
        return tuple(paths)


_READING = (
    String("topic", doc="topic the records go to"),
    Int("batch.size", default=2000, at_least=1, doc="most records of one poll", importance="LOW"),
    Choice(
        "format",
        default="lines",
        among=("lines", "csv", "jsonl", *COLUMN_FORMATS),
        doc="what a line is; or Parquet or Arrow IPC, whose records are columns with their schema",
    ),
    String("value.schema", default=None, doc="jsonl only: the schema of the values, as JsonConverter writes schemas"),
    String("value.schema.file", default=None, doc="jsonl only: a file with the schema of the values"),
    TimeZone(
        "timestamp.timezone",
        default=None,
        doc="parquet and arrow only: the time zone of timestamps that have none; by default they are refused",
    ),
    Choice(
        "value",
        default="json",
        among=("json", "raw"),
        doc="csv only: a JSON object by header names, or the line as it stands",
    ),
    Delimiter("delimiter", default=",", doc="csv only: the character between columns"),
    Choice(
        "incomplete.last.line",
        default="wait",
        among=("wait", "emit"),
        doc="a last line without newline, or with an open quote: wait for its rest, or take it (for finished files)",
    ),
    Choice(
        "malformed", default="fail", among=("fail", "skip"), doc="a malformed line: fail the task, or count and skip"
    ),
    Choice(
        "after.commit",
        default="keep",
        among=("keep", "move", "delete"),
        doc="what becomes of a file whose last record was committed; with move and delete it must not grow any more",
    ),
    String(
        "after.commit.folder", default=None, doc="with after.commit = move: the folder for files that are done with"
    ),
    Choice(
        "rotation",
        default="fail",
        among=("fail", "follow"),
        doc="a file that was renamed or truncated and begun anew: fail the task, or read on in what it was rotated to",
    ),
    Long(
        "rotation.wait.ms",
        default=5000,
        at_least=0,
        doc="rotation = follow: how long nothing must have been written to a rotated file before the next one is read",
        importance="LOW",
    ),
    Password(
        "storage.options",
        default=None,
        doc="for URLs: a JSON object with what fsspec needs, such as credentials",
        validator=storage_options,
    ),
    Long(
        "file.poll.interval.ms",
        default=DEFAULT_POLL_INTERVAL_MS,
        at_least=1,
        doc="how often to look for new files, and whether files of URLs have grown, in milliseconds",
        importance="LOW",
    ),
)

CONNECTOR = ConfigDef(
    String("file", doc="path, URL of fsspec, glob or folder; several separated by commas"),
    *_READING,
)
TASK = ConfigDef(Paths("task.files", doc="the files of one task"), *_READING)


def task_properties(config: Config, paths: Iterable[str]) -> Mapping[str, str]:
    """The properties of a task that reads these files with the connector's settings."""
    given = {key.name: str(config[key.name]) for key in _READING if config[key.name] is not None}
    return {"task.files": _paths_text(paths), **given}


def _paths_text(paths: Iterable[str]) -> str:
    text = json.dumps(list(paths))
    return text if len(text) <= _LONGEST_LIST else b64encode(zlib.compress(text.encode())).decode()


def completed_folder(config: Config) -> str | None:
    """The folder for files that are done with, as an absolute path; None if they go into none."""
    folder: str | None = config["after.commit.folder"]
    if folder is None or is_url(folder):
        return folder and folder.rstrip("/")
    return os.path.abspath(os.path.expanduser(folder))
