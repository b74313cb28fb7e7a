"""The replay of a source by fresh tasks up to its committed offsets: what should have been written.

Where tasks end their transactions themselves, what they aborted is left out, as it is in the topics.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.parts import OFFSET_STORE, chosen
from eosfw.config.secrets import secret_values
from eosfw.errors import DamagedDataError, EosfwError, described
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.pipeline.verdicts.fresh_task import new_boundary, new_stages
from eosfw.pipeline.verdicts.task_replay import ReplayGoal, TaskReplay
from eosfw.records import SourceRecord
from eosfw.registry import parts
from eosfw.runtime.checks.config_transformer import WorkerConfigTransformer
from eosfw.runtime.checks.preflight import connector_config
from eosfw.runtime.connectors.offsets import OffsetServices, stored_offsets
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.runtime.tasks.planner import task_config
from eosfw.state.storage.combined_offsets import StoredOffsets
from eosfw.state.tasks.poll_batch import PollBatch

logger = logging.getLogger(__name__)
PAUSE = 0.01
"""Seconds to wait when no task has anything for the moment."""


def replay_records(run: LocalRun, name: str, *, record_offsets: bool = False) -> Iterator[Sequence[SourceRecord]]:
    """Every record of a connector's source up to its committed offsets, in chunks; raises as `Replay` does."""
    with open_replay(run, name, record_offsets=record_offsets) as replay:
        # In turn: a task without end must not keep the others from their last committed offset.
        left = list(replay.tasks)
        while left:
            found = [(task, replay.poll(task)) for task in left]
            left = [task for task, polled in found if polled is not None]
            yield from (_records(polled) for _, polled in found if polled)
            if not any(task.busy for task in left):
                run.runtime.sleep(PAUSE)
        yield from (_records(rest) for task in replay.tasks if (rest := replay.rest(task)))
        replay.check()


@contextmanager
def open_replay(run: LocalRun, name: str, *, record_offsets: bool = False) -> Iterator[Replay]:
    """Start fresh tasks of a connector, to be polled for what its source should have given."""
    connector = run.plugins.connector(run.pipeline.connectors[name]["connector.class"])
    transformer = WorkerConfigTransformer(run.config, run.plugins)
    properties = transformer.transform(run.pipeline.connectors[name]).values
    transformer.remember(secret_values(properties, connector.config))
    config = connector_config(connector, name, properties)
    store = parts.offset_store(run.plugins, chosen(OFFSET_STORE, run.config, config))
    committed = ReplayGoal(store, dict(_committed(run, name)))
    with closing(transformer), transformer.hidden_secrets(), ExitStack() as opened:
        tasks = []
        for number, share in enumerate(connector.task_configs(config, config["tasks.max"])):
            task_id = ConnectorTaskId(name, number)
            stages = opened.enter_context(new_stages(run.plugins, run.config, config, task_id, run.runtime))
            replay = TaskReplay(connector.task, task_id, new_boundary(config), committed, stages)
            opened.enter_context(_started(replay, task_config(connector, share, "replay")))
            tasks.append(replay)
        yield Replay(name, committed, tasks, run.runtime, record_offsets=record_offsets)


class Replay:
    """The replay of a connector.

    DamagedDataError when a committed offset is not met again: the source changed, so nothing can be expected of it;
    when two tasks give records of one source partition; and, with `record_offsets`, when a batch holds no offset for
    each record, so that offsets cannot tell records apart. TaskFailedError for what the connector's own code raises.
    """

    def __init__(
        self, name: str, committed: ReplayGoal, tasks: Sequence[TaskReplay], runtime: Runtime, *, record_offsets: bool
    ) -> None:
        self.tasks = tasks
        self._name, self._positions, self._runtime, self._record_offsets = name, committed, runtime, record_offsets

    def poll(self, task: TaskReplay) -> Sequence[PollBatch] | None:
        """A task's next records that were committed, possibly none yet; None when no more are to be expected."""
        if not (self._positions.remaining or task.open) or task.is_over(self._runtime.now()):
            return None
        return task.sent(task.poll_committed(self._runtime.now(), record_offsets=self._record_offsets))

    def rest(self, task: TaskReplay) -> Sequence[PollBatch]:
        """The transaction that is open at the end: the run committed it, since offsets behind it are committed."""
        rest, task.open = task.open, []
        return task.sent(rest)

    def check(self) -> None:
        """Raise DamagedDataError unless every committed offset was met again."""
        if not self._positions.remaining:
            return
        partitions = ", ".join(str(dict(partition)) for partition, _ in self._positions.remaining.values())
        failed = [f"task {one.id} last failed with: {described(one.failure)}" for one in self.tasks if one.failure]
        changed = (
            f"either the source changed, or a task keeps its place elsewhere than in source offsets, or none of its "
            f"{len(self.tasks)} tasks has these source partitions now: a connector must give each of them to some task "
            f"whatever `tasks.max` is"
        )
        raise DamagedDataError(
            f"the source of connector {self._name!r} could not be replayed: never met again: {partitions}; "
            f"{'; '.join(failed) or changed}"
        )


def _records(batches: Sequence[PollBatch]) -> list[SourceRecord]:
    return [record for batch in batches for record in batch.sent_records()]


def _committed(run: LocalRun, name: str) -> StoredOffsets:
    worker_offsets = GlobalOffsetBackingStore(run.config, run.backend, run.runtime)
    services = OffsetServices(
        config=run.config,
        backend=run.backend,
        plugins=run.plugins,
        worker_offsets=worker_offsets,
        runtime=run.runtime,
    )
    return stored_offsets(services, name, run.pipeline.connectors[name])


@contextmanager
def _started(replay: TaskReplay, config: Config) -> Iterator[None]:
    try:
        replay.start(config, lambda _: None)  # its notices were given when the run polled it
        yield
    finally:
        try:
            replay.stop()
        except EosfwError as error:  # its records were given
            logger.warning("replay of task %s: stop failed: %s", replay.id, described(error.__cause__ or error))
