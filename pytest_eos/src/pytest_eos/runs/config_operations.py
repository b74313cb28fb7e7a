"""What the config topic says about the leaders of a run, for the checker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from eosfw.checker import NONE, Operation
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from pytest_eos.runs.run import Run
from pytest_eos.runs.stored_log import StoredLog


def config_operations(run: Run) -> Iterator[Operation]:
    """The committed records of a run's connector: task configurations, their commits, numbers of tasks.

    They are read here without the framework's own code, since a fault in it must not hide itself.
    """
    one = TopicPartition(run.group.local.config["config.storage.topic"], 0)
    with closing(run.eos.backend.admin()) as admin:
        start = admin.log_start_offsets([one])[one]
        end = admin.end_offsets([one], IsolationLevel.READ_COMMITTED)[one]
    ranges = {one: OffsetRange(start, end)}
    stored, generations = StoredLog(run, ranges), _Generations()
    with closing(run.eos.backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
        for batch in reader.read(ranges, run.eos.settings.patience):
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                if (what := _of_connector(run.name, key)) is None or value is None:
                    continue
                fields = json.loads(value)
                producer = stored.producer_at(one, offset)
                producer.pop("seq", None)
                count = fields.get("tasks", fields.get("task-count", NONE))
                facts: dict[str, Any] = {"val": what, "count": count, "gen": generations.begun_by(what, count)}
                place: dict[str, Any] = {"part": f"{one.topic}-{one.partition}", "off": offset, **producer}
                yield Operation(
                    i=0, t=0.0, proc="config topic", op="config", type="ok", connector=run.name, visible=True,
                    **facts, **place,
                )  # fmt: skip


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
