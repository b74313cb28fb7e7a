"""Drive a task of the connector the way the framework does, without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from eosfw.ids import ConnectorTaskId
from eosfw_http.connector import HttpSourceConnector
from eosfw_http.task import HttpSourceTask

PAGINGS = ("page", "offset", "cursor", "link", "link.path")

MANY = 200
"""More polls than any test takes."""


class Context:
    """A task context that keeps the offset."""

    task_id = ConnectorTaskId("http", 0)
    transaction = None
    metrics: Any = None

    def __init__(self, offset: Mapping[str, Any] | None, *, record_offsets: bool) -> None:
        self.kept, self.record_offsets = offset, record_offsets

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.kept

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        raise AssertionError(text)


class Reading:
    """A started task; `offset` is that behind what it has given."""

    def __init__(self, task: HttpSourceTask, context: Context) -> None:
        self.task, self._context = task, context
        self.now = 0.0
        self.record_offsets: list[Mapping[str, Any]] = []

    @property
    def offset(self) -> Mapping[str, Any] | None:
        return self._context.kept

    def poll(self) -> list[int]:
        """The ids of the records of one poll."""
        batch = self.task.poll()
        if batch is None:
            return []
        self._context.kept = batch.source_offset
        self.record_offsets += batch.source_offsets or ()
        return [row["id"] for row in batch.values]

    def rest(self) -> list[int]:
        """The ids of all records until there are none."""
        self.now += 3600
        found = self.poll()
        for _ in range(MANY):
            if self.task.at_end():
                return found
            self.now += 1
            found += self.poll()
        raise AssertionError("it has no end")


def properties(url: str, paging: str = "page", **more: object) -> dict[str, str]:
    """Properties that read a served API; `page_size=2` stands for `page.size`."""
    given: dict[str, object] = {
        "topic": "t",
        "url": url,
        "paging": paging.partition(".")[0],
        "records.path": "data.rows",
        "cursor.path": "next",
        "page.size": 4,
    }
    if paging == "link.path":
        given["link.path"] = "link"
    given |= {name.replace("_", "."): value for name, value in more.items()}
    return {name: str(value) for name, value in given.items()}


@contextmanager
def reading(
    given: Mapping[str, str], offset: Mapping[str, Any] | None = None, *, record_offsets: bool = False
) -> Iterator[Reading]:
    """The only task of these properties, started at this offset."""
    connector = HttpSourceConnector()
    config = connector.config.parse(given)
    assert not list(connector.problems(config))
    (share,) = connector.task_configs(config, 1)
    task = HttpSourceTask(clock=lambda: read.now)
    context = Context(offset, record_offsets=record_offsets)
    read = Reading(task, context)
    task.start(HttpSourceTask.config.parse(share), context)
    try:
        yield read
    finally:
        task.stop()
