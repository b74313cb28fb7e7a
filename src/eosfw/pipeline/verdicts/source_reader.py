"""The records of a source, read through its connector without a cluster."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing

from eosfw.capabilities import Capabilities
from eosfw.concurrency import Runtime
from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.parts import CONVERTERS
from eosfw.config.worker import SUPPORT, WORKER
from eosfw.errors import RetriableError, TaskFailedError, described
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.verdicts.fresh_task import FreshTask, OnNotice, new_boundary, new_stages
from eosfw.records import SourceRecord
from eosfw.registry import Plugins
from eosfw.runtime.tasks.planner import ClusterFacts, TaskPlanner

_WORKER = {"group.id": "read", SUPPORT: "enabled", **LOCAL_FILE_POLICY}
_PAUSE = 0.1
"""Seconds between polls that gave nothing."""


def source_records(
    plugins: Plugins,
    name: str,
    properties: Mapping[str, str],
    runtime: Runtime,
    on_notice: OnNotice,
    *,
    idle: float = 5.0,
    worker_properties: Mapping[str, str] | None = None,
) -> Generator[SourceRecord, None, None]:
    """Every record that fresh tasks would commit from the beginning of a source.

    Ends with the source, or when it gave nothing for `idle` seconds. Of a worker's properties its converters are used.
    ConfigError lists what is wrong with the properties; TaskFailedError says which task failed, or gave nothing because
    its polls kept failing.
    """
    facts = ClusterFacts(Capabilities(), lambda _properties, _client: ())
    converters = {key: text for key, text in (worker_properties or {}).items() if key.startswith(CONVERTERS)}
    worker = WORKER.parse({**_WORKER, **converters})
    planner = TaskPlanner(worker, plugins, facts)
    transformer = planner.transformer
    with closing(transformer), transformer.hidden_secrets(), ExitStack() as opened:
        validated = planner.check(name, properties)

        def notice(text: str) -> None:
            on_notice(transformer.redact(text))

        reads = []
        for number, config in enumerate(validated.task_configs):
            boundary, task_id = new_boundary(validated.config), ConnectorTaskId(name, number)
            stages = opened.enter_context(new_stages(plugins, worker, validated.config, task_id, runtime))
            task = FreshTask(validated.connector.task, task_id, boundary, stages)
            opened.callback(task.stop)
            task.start(config, notice)
            reads.append(_TaskRead(task, notice))
        yield from _records_in_turn(reads, runtime, idle)


def _records_in_turn(reads: Sequence[_TaskRead], runtime: Runtime, idle: float) -> Iterator[SourceRecord]:
    last = runtime.now()
    while left := [one for one in reads if not one.ended]:
        for one in left:
            yield from one.records(runtime.now())
        if any(one.task.busy for one in left):
            last = runtime.now()
        elif runtime.now() >= last + idle:
            break
        else:
            runtime.sleep(_PAUSE)
    failing = [one.task for one in left if one.task.failure is not None]
    if failing:
        raise TaskFailedError("\n".join(f"task {task.id} gave nothing: {task.failure}" for task in failing))
    for one in reads:
        one.report_open_transaction()


class _TaskRead:
    """The read of one task's records."""

    def __init__(self, task: FreshTask, on_notice: OnNotice) -> None:
        self.task = task
        self.ended = False
        """Whether the source is at its end."""
        self._on_notice = on_notice
        self._next_poll = 0.0

    def records(self, now: float) -> Iterator[SourceRecord]:
        """Poll once; the records of transactions that are committed by this poll."""
        if now < self._next_poll:
            return
        failed_before = self.task.failure is not None
        for batch in self.task.sent(list(self.task.poll(now))):
            yield from batch.sent_records()
        if self.task.failure is not None:
            self._on_failure(self.task.failure, now, is_first=not failed_before)
            return
        self.ended = not self.task.busy and self.task.at_end()
        if self.ended:
            self.task.end_transaction()

    def report_open_transaction(self) -> None:
        """Give notice of records that a run would not commit, since the task did not end their transaction."""
        records = sum(map(len, self.task.open))
        if records:
            text = f"task {self.task.id} ended no transaction behind its last {records:,} records: left out"
            self._on_notice(text)

    def _on_failure(self, failure: RetriableError, now: float, *, is_first: bool) -> None:
        if is_first:
            self._on_notice(f"task {self.task.id}: {described(failure)}; polling again")
        self._next_poll = now + (failure.retry_after or 0.0)
