"""Drive a task of the connector the way the framework does, without one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from eosfw.ids import ConnectorTaskId
from eosfw_sql.connector import SqlSourceConnector
from eosfw_sql.task import SqlSourceTask

Offsets = dict[str, Mapping[str, Any]]


def read_from(partition: Mapping[str, Any]) -> str:
    """The table of a source partition, or `query`."""
    return str(partition.get("table") or partition["query"])


class Context:
    """A task context that keeps offsets by table."""

    task_id = ConnectorTaskId("sql", 0)
    transaction = None
    metrics: Any = None

    def __init__(self, offsets: Offsets, *, record_offsets: bool) -> None:
        self.offsets, self.record_offsets = offsets, record_offsets
        self.notices: list[tuple[str, str, int]] = []

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.offsets.get(read_from(partition))

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        self.notices.append((kind, text, count))


class Reading:
    """A started task; `offsets` are those behind what it has given."""

    def __init__(self, task: SqlSourceTask, context: Context) -> None:
        self.task, self.context, self.offsets = task, context, context.offsets
        self.now = 0.0

    def poll(self) -> list[dict[str, Any]]:
        """The rows of one poll."""
        batch = self.task.poll()
        if batch is None:
            return []
        self.offsets[read_from(batch.source_partition)] = batch.source_offset
        return list(batch.values)

    def rest(self) -> list[dict[str, Any]]:
        """All rows until there are none, each table asked at least once more."""
        self.now += 3600
        rows = []
        while found := self.poll():
            rows += found
        return rows


@contextmanager
def reading(properties: Mapping[str, Any], offsets: Offsets | None = None, **options: bool) -> Iterator[Reading]:
    """The only task of these properties, started at these offsets."""
    connector = SqlSourceConnector()
    config = connector.config.parse({"topic.prefix": "t-", **{name: str(one) for name, one in properties.items()}})
    (share,) = connector.task_configs(config, 1)
    task = SqlSourceTask(clock=lambda: read.now)
    read = Reading(task, Context({} if offsets is None else offsets, **({"record_offsets": False} | options)))
    task.start(SqlSourceTask.config.parse(share), read.context)
    try:
        yield read
    finally:
        task.stop()


def sqlite_properties(folder: Path, mode: str, **more: object) -> dict[str, Any]:
    """Properties that read `folder/db`; `batch_max_rows=2` stands for `batch.max.rows`."""
    dotted = {name.replace("_", "."): value for name, value in more.items()}
    return {"connection.url": f"sqlite:///{folder}/db", "mode": mode, **dotted}


def execute(folder: Path, *statements: str) -> None:
    """Change `folder/db`, in one transaction."""
    with closing(sqlite3.connect(folder / "db")) as session, session:
        for statement in statements:
            session.execute(statement)
