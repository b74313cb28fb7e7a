"""What the config topic says about the leaders of a run, for the checker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from eosfw.checker import NONE
from eosfw.ids import TopicPartition
from eosfw.records import LogBatch
from pytest_eos.runs.operations.stored_log import StoredLog


def config_operations(connector: str, batches: Iterable[LogBatch], stored: StoredLog) -> Iterator[dict[str, Any]]:
    """The records of a connector: task configurations, their commits, numbers of tasks; as fields of operations.

    They are read here without the framework's own code, since a fault in it must not hide itself.
    """
    generations = _Generations()
    for batch in batches:
        one = TopicPartition(batch.topic, batch.partition)
        for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
            if (what := _of_connector(connector, key)) is None or value is None:
                continue
            fields = json.loads(value)
            count = fields.get("tasks", fields.get("task-count", NONE))
            producer = stored.producer_at(one, offset)
            yield {
                "proc": "config topic",
                "op": "config",
                "type": "ok",
                "connector": connector,
                "val": what,
                "count": count,
                "gen": generations.begun_by(what, count),
                "part": f"{one.topic}-{one.partition}",
                "off": offset,
                "visible": True,
                **{name: producer[name] for name in ("pid", "epoch") if name in producer},
            }


def _of_connector(connector: str, key: bytes | None) -> str | None:
    """What a record says of the connector, as the checker calls it; None if it says something else."""
    text = (key or b"").decode(errors="replace")
    task = text.removeprefix(f"task-{connector}-")
    if task != text and task.isdecimal():
        return f"task-{task}"
    return {f"commit-{connector}": "commit", f"tasks-fencing-{connector}": "task-count"}.get(text)


class _Generations:
    """Counts the commit records behind a configuration for each of their tasks; others begin no generation."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._last = NONE

    def begun_by(self, what: str, count: int) -> int:
        """The generation that a record begins, from 0; -1 for none."""
        if what != "commit":
            self._written.add(what)
            return NONE
        whole = all(f"task-{number}" in self._written for number in range(count))
        self._written.clear()
        self._last += whole
        return self._last if whole else NONE
