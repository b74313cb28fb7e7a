"""Drive the file connector the way the framework does, without one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eosfw.ids import ConnectorTaskId
from eosfw.records import SourceBatch
from eosfw_file import FileSourceConnector, FileSourceTask

TASK_ID = ConnectorTaskId("files", 0)
Offsets = Mapping[str, Mapping[str, Any]]


@dataclass
class Context:
    """A task context that records the notices of its task."""

    offsets: Offsets = field(default_factory=dict)
    record_offsets: bool = False
    notices: list[tuple[str, str, int]] = field(default_factory=list)
    task_id: ConnectorTaskId = TASK_ID
    transaction: None = None
    metrics: Any = None

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.offsets.get(partition["filename"])

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        self.notices.append((kind, text, count))


@dataclass
class Driven:
    """A started task with its context."""

    task: FileSourceTask
    context: Context

    def polls(self) -> list[SourceBatch]:
        """Poll until there is nothing more for now."""
        batches = []
        while (batch := self.task.poll()) is not None:
            batches.append(batch)
        return batches

    def values(self) -> list[bytes]:
        return [value for batch in self.polls() for value in batch.values]


def task_properties(file: Path | str, max_tasks: int = 1, **properties: str) -> Sequence[Mapping[str, str]]:
    """What the connector configures its tasks with; `batch_size=2` stands for `batch.size`."""
    connector = FileSourceConnector()
    dotted = {name.replace("_", "."): value for name, value in properties.items()}
    return connector.task_configs(connector.config.parse({"file": str(file), "topic": "lines", **dotted}), max_tasks)


def start(
    file: Path | str, offsets: Offsets | None = None, *, record_offsets: bool = False, **properties: str
) -> Driven:
    """Start the only task over a file."""
    (shares,) = task_properties(file, **properties)
    # A second passes between two looks at the clock.
    task, context = FileSourceTask(itertools.count().__next__), Context(offsets or {}, record_offsets)
    task.start(FileSourceTask.config.parse(shares), context)
    return Driven(task, context)


def read(file: Path | str, offsets: Offsets | None = None, **properties: str) -> list[bytes]:
    """All values that a fresh task gives now."""
    return start(file, offsets, **properties).values()


def committed_polls(driven: Driven) -> tuple[list[bytes], dict[str, Mapping[str, Any]]]:
    """Poll as a worker does that commits each poll; the values, and the offsets by file."""
    values: list[bytes] = []
    offsets: dict[str, Mapping[str, Any]] = {}
    for _ in range(20):
        polled = driven.task.poll() or []
        for batch in polled if isinstance(polled, list) else [polled]:
            values += batch.values
            offsets[batch.source_partition["filename"]] = batch.source_offset
        driven.task.commit()
    return values, offsets
