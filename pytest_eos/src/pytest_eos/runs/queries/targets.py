"""What Spark wrote, as a DataFrame: folders of files, Delta tables, the sinks of streaming queries."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS: Final = (
    "a run, a topic (or, of the fixture `eos`, its name), a DataFrame, a step's output, a folder of parquet, CSV, JSON "
    "or Delta files, a streaming query, a list of records or of values"
)
_MEANT: Final = "; if that is meant: allow_empty=True"
_FORMATS: Final = {"parquet": "parquet", "csv": "csv", "json": "json", "jsonl": "json"}
_TYPED: Final = {"inferSchema": "true"}
_NAMED: Final = {"header": "true"}
"""How CSV is read of which nobody knows how it was written: with names of columns in the first line."""
_SINK_LOG: Final = "_spark_metadata"
_COMPRESSED: Final = frozenset({"gz", "bz2", "zst", "lz4", "snappy", "deflate"})


def is_folder(target: Any) -> bool:
    """Whether a target is a path: a Path, or a text that is written as one."""
    return isinstance(target, Path) or (isinstance(target, str) and ("/" in target or Path(target).is_dir()))


def is_query(target: Any) -> bool:
    """Whether a target is a streaming query, without loading Spark to find out."""
    module = sys.modules.get("pyspark.sql.streaming.query")
    return module is not None and isinstance(target, module.StreamingQuery)


def frame_of_folder(
    folder: Path, spark: SparkSession | None = None, written: Mapping[str, str] | None = None
) -> DataFrame:
    """The rows of a folder, each with its file, and its batch if a query's sink wrote it.

    Of a folder that a query writes, only finished batches count. `written` are the writer's options, if they are known.
    AssertionError: there are no rows to judge.
    """
    kind = format_of(folder)
    session = spark or active_session(f"folder {folder}")
    if kind == "delta":
        return _delta(session, folder)
    options = {**_TYPED, **(_NAMED if written is None else written)} if kind == "csv" else {}
    frame = session.read.format(kind).options(**options).load(str(folder))
    return _with_places(frame, folder)


def format_of(folder: Path) -> str:
    """The format of a folder's files, by their names; AssertionError for none, TypeError for others."""
    if not folder.exists():
        raise AssertionError(
            f"{folder} does not exist, so nothing in it was judged; if that is meant: allow_empty=True"
        )
    if (folder / "_delta_log").is_dir():
        return "delta"
    found = {_suffix(file) for file in _data_files(folder)}
    if not found:
        raise AssertionError(
            f"{folder} holds no files of rows, so nothing was judged; if that is meant: allow_empty=True"
        )
    if len(found) > 1 or not found <= _FORMATS.keys():
        raise TypeError(
            f"{folder} holds files ending in {', '.join(sorted(map(repr, found)))}: a folder of parquet, CSV, JSON or "
            f"Delta files can be judged; read others into a DataFrame"
        )
    return _FORMATS[found.pop()]


def target_of_query(query: Any) -> Any:
    """A DataFrame of the table that a streaming query fills, or the Path of its folder; TypeError for another sink.

    AssertionError: the query has failed.
    """
    _await_batches(query)
    sink = str((query.lastProgress or {}).get("sink", {}).get("description", ""))
    if sink == "MemorySink":
        return active_session("a query's table").table(query.name)
    if sink.startswith("FileSink["):
        return Path(sink[len("FileSink[") : -1].removeprefix("file:"))
    if sink.startswith("DeltaSink["):
        return Path(sink[len("DeltaSink[") : -1].removeprefix("file:"))
    raise TypeError(
        f"the query {query.name or query.id} writes to {sink or 'a sink that is not known before its first batch'}, "
        f"which keeps no rows that can be read again: judge the folder, table or topic that it fills"
    )


def _await_batches(query: Any) -> None:
    """Wait until a query has no more to read; AssertionError with its root cause if it has failed."""
    from pyspark.errors import StreamingQueryException

    try:
        if query.isActive:
            query.processAllAvailable()
    except StreamingQueryException as failed:
        why: Exception | None = failed
    else:
        why = query.exception()
    if why is not None:
        from eosfw_spark.root_cause import root_cause

        name = query.name or query.id
        raise AssertionError(f"the query {name} failed, so what it wrote is not judged: {root_cause(why).sentence}")


def active_session(what: str) -> SparkSession:
    """The session of `eos_spark`; UsageError if there is none."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise pytest.UsageError(f"{what} is read in Spark: ask for the fixture eos_spark")
    return session


def _delta(session: SparkSession, folder: Path) -> DataFrame:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return session.read.format("delta").load(str(folder))
    except (PySparkException, Py4JError) as why:
        from eosfw_spark.root_cause import root_cause

        raise pytest.UsageError(
            f"{folder} is a Delta table, which this Spark session cannot read: pip install delta-spark, and start "
            f"Spark with its jars ({root_cause(why).sentence:.120})"
        ) from why


def _with_places(frame: DataFrame, folder: Path) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    if "file" in frame.columns or "batch" in frame.columns:
        return frame  # columns of the rows themselves
    placed = frame.withColumn("file", F.col("_metadata.file_name"))
    batches = batches_of_files(folder)
    if not batches:
        return placed
    known = frame.sparkSession.createDataFrame(list(batches.items()), "file string, batch long")
    return placed.join(F.broadcast(known), "file", "left")


def _data_files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for file in folder.rglob("*"):
        hidden = any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)
        if file.is_file() and not hidden:
            yield file


def _suffix(file: Path) -> str:
    parts = [part for part in file.name.lower().split(".")[1:] if part not in _COMPRESSED]
    return parts[-1] if parts else ""


def batches_of_files(folder: Path) -> Mapping[str, int]:
    """The finished batch of each file of a streaming query's folder, by the file's name (`FileStreamSinkLog`).

    A compacted entry of the log has lost the batches of its files.
    """
    known: dict[str, int] = {}
    for entry in sorted((folder / _SINK_LOG).glob("[0-9]*"), key=lambda one: one.name):
        if entry.name.isdigit():
            known.update(dict.fromkeys(_added(entry), int(entry.name)))
    return known


def _added(entry: Path) -> Iterator[str]:
    for line in entry.read_text(encoding="utf-8").splitlines()[1:]:
        action = json.loads(line)
        if action.get("action") == "add":
            yield unquote(action["path"].rpartition("/")[2])
