"""The leader of a worker group: writes its configurations and fences zombies (KIP-618; `DistributedHerder`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, PrivilegedWriteError, SupersededError
from eosfw.runtime.fencing.connector_fencer import ConnectorFencer
from eosfw.runtime.fencing.rounds import FencingRefusedError, ZombieFencing
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.config_writer import ConfigWriter, WriteNotAllowedError
from eosfw.state.fencing.plan import FencingPlan, ids_to_fence, plan_fencing
from eosfw.state.steps import Announce, StepEvent, TaskStep
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.config_records import (
    STOPPED,
    ConfigRecord,
    connector_record,
    removal_records,
    target_state_record,
    task_count_record,
    task_records,
)

logger = logging.getLogger(__name__)

MAX_CLAIMS = 3
"""How often a leader claims the write privilege again within one write; each claim fences somebody, so not for ever."""
CLAIM_PAUSES = (0.25, 0.5, 1.0)
"""Seconds between looks for another leader, before one that lost the privilege claims it again (LDR-04)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderServices:
    """What the leader uses of its worker."""

    group_id: str
    worker: str
    fencer: ConnectorFencer
    refuse_shared_id: Callable[[], None]
    """Raises ConfigError if another group uses the leader's transactional id as well."""
    announce: Announce
    runtime: Runtime
    confirm_leadership: Callable[[], None] | None = None
    """Raises NotLeaderError unless the group's coordinator says that this worker leads; None in a run.

    In a group other workers' commits are normal life. A run takes one as the sign that another run took over.
    """


class Leader:
    """The leader in the worker that leads its group. Methods may be called by several threads.

    What Kafka Connect's `DistributedHerder` does only in the leader.
    """

    def __init__(self, topic: ConfigTopic, writer: ConfigWriter, services: LeaderServices) -> None:
        self._topic, self._writer, self._services = topic, writer, services
        self._generations: dict[str, int] = {}
        self._zombie_fencing = ZombieFencing(services.runtime)
        self.superseded = False
        """Whether another worker took the group over and committed configurations."""

    def start(self) -> None:
        """Claim leadership, then read everything that earlier leaders wrote."""
        self._step(TaskStep.CLAIM_LEADERSHIP, "")
        self._writer.claim()

    def put_connector(self, name: str, properties: Mapping[str, str], tasks: Sequence[Mapping[str, str]]) -> int:
        """Commit a connector's properties and task configurations, even unchanged ones; return the generation.

        The new generation tells an older run of the same connector that it is superseded.
        """
        # Two transactions, as in Kafka Connect. Tasks of the old generation keep its properties until the second one.
        self.write([connector_record(name, properties)])
        self.put_task_configs(name, tasks)
        entry = self._topic.entry(name)
        # Read back, not assumed: another leader may have written between our commit and our reading.
        self._refuse_if_taken(name, entry, expected=None)
        if entry.generation is None or entry.inconsistent:
            raise PrivilegedWriteError(f"connector {name} was deleted by another worker while it was written")
        self._generations[name] = entry.generation
        return entry.generation

    def publish(self, topic: str, records: Sequence[ConfigRecord], number: int) -> None:
        """Publish an assignment to the group; PrivilegedWriteError for a leader that was fenced by its successor."""
        self._step(TaskStep.PUBLISH_ASSIGNMENT, "", count=number)
        self._writer.write_to(topic, records)

    def put_task_configs(
        self, name: str, tasks: Sequence[Mapping[str, str]], check: Callable[[], None] = lambda: None
    ) -> None:
        """Commit task configurations of a connector: they are its next generation; `check` may refuse that."""
        self._put_generation(name, len(tasks), task_records(name, tasks), check)

    def stop_connector(self, name: str, check: Callable[[], object] = lambda: None) -> None:
        """Commit a generation without tasks, and with it that the connector is stopped (OFF-15); `check` may refuse it.

        Together: between the two the connector would seem to be one that has yet to get its tasks.
        """
        self._put_generation(name, 0, [*task_records(name, []), target_state_record(name, STOPPED)], check)

    def _put_generation(
        self, name: str, count: int, records: Sequence[ConfigRecord], check: Callable[[], object] = lambda: None
    ) -> None:
        self._step(TaskStep.WRITE_TASK_CONFIGS, name, count=count)
        # Cancelled before the write: a round for the old generation must not write a task count record after it,
        # which would mark the new generation as fenced.
        self._zombie_fencing.cancel(name)
        self.write(records, check)

    def confirm(self) -> None:
        """Raise SupersededError if another leader has written since."""
        self._topic.read_to_end()
        self._refuse_if_any_taken()

    def remove_connector(self, name: str) -> None:
        """Delete a connector; its task count record stays, so that a connector of this name still fences."""
        self._zombie_fencing.cancel(name)
        self._generations.pop(name, None)
        self.write(removal_records(name))

    def fence_newest_generation(self, connector: str) -> None:
        """Fence earlier producers of a connector's newest generation, as the config topic read to its end says."""
        self._topic.read_to_end()
        generation = self._topic.entry(connector).generation
        if generation is not None:  # without task configurations there was no task
            self.fence_zombies(connector, generation)

    def fence_deleted_namesake(self, connector: str) -> None:
        """Fence the tasks of a deleted connector, whose name another one has that had no tasks so far.

        No task count record is written: the one that is there counts these tasks, until the first ones of the new
        connector have them fenced again.
        """
        entry = self._topic.entry(connector)
        ids = ids_to_fence(self._services.group_id, connector, entry)
        if ids:
            self._step(TaskStep.FENCE_ZOMBIES, connector, ids=ids, count=len(ids))
            self._services.fencer.fence(entry, ids)

    def fence_zombies(self, connector: str, generation: int) -> None:
        """Return once no earlier producer of the connector can commit and the task count record is written.

        Concurrent requests for one generation share one round (FEN-03); newer task configurations cancel it (FEN-04).
        """
        self._zombie_fencing.run_or_join(
            connector, generation, lambda cancelled: self._run_round(connector, generation, cancelled)
        )

    def _run_round(self, connector: str, generation: int, cancelled: Callable[[], None]) -> None:
        self._topic.read_to_end()
        plan = self._plan(connector, generation)
        if plan is FencingPlan.FENCE:
            ids = ids_to_fence(self._services.group_id, connector, self._topic.entry(connector))
            self._step(TaskStep.FENCE_ZOMBIES, connector, generation, ids=ids, count=len(ids))
            cancelled()  # this thread may have slept: it must not fence the producers of a newer generation
            self._services.fencer.fence(self._topic.entry(connector), ids)
            # Fencing takes a while. A newer generation may have come meanwhile, and its producers need a round of their
            # own: a task count record of this round would say that they have had it (FEN-05).
            self._step(TaskStep.CHECK_GENERATION, connector, generation)
            self._topic.read_to_end()
            self._plan(connector, generation)
        else:
            why = plan.skip_reason
            logger.debug("no producer of connector %s is fenced for generation %d: %s", connector, generation, why)
        if plan is not FencingPlan.NOTHING:
            self._write_task_count(connector, generation, cancelled)

    def _write_task_count(self, connector: str, generation: int, cancelled: Callable[[], None]) -> None:
        count = len(self._topic.entry(connector).tasks)
        self._step(TaskStep.WRITE_TASK_COUNT, connector, generation, count=count)

        def check() -> None:
            cancelled()
            self._plan(connector, generation)

        self.write([task_count_record(connector, count)], check)

    def _plan(self, connector: str, generation: int) -> FencingPlan:
        """The fencing that the config topic asks for; refused if the generation is not the newest any more (FEN-05)."""
        seen = self._topic.entry(connector)
        if seen.properties is None:
            raise FencingRefusedError(f"there is no connector {connector}")
        if seen.generation != generation:
            raise FencingRefusedError(
                f"connector {connector} moved from generation {generation} to {seen.generation} while it was fenced"
            )
        if not seen.has_generation(generation):
            raise FencingRefusedError(f"connector {connector} was deleted and created anew, without tasks so far")
        return plan_fencing(seen)

    def write(self, records: Sequence[ConfigRecord], check: Callable[[], object] = lambda: None) -> None:
        """Commit records of the config topic in one transaction, and read them back; `check` may refuse that."""
        for _ in range(MAX_CLAIMS):
            try:
                # The check is asked each time: the claim before has read what another leader wrote meanwhile.
                self._writer.write(records, check)
            except WriteNotAllowedError:
                raise
            except PrivilegedWriteError as error:
                logger.warning(
                    "worker %s lost the privilege to write to the config topic and claims it again: %s",
                    self._services.worker,
                    error,
                )
                self._recover()
            else:
                return
        self._writer.write(records, check)

    def _recover(self) -> None:
        """Claim the privilege again, unless another worker has taken the group over (LDR-04).

        Each claim fences the leader before it. Two leaders that claimed without a look would fence each other for ever.
        """
        if self._services.confirm_leadership is not None:
            self._services.runtime.sleep(CLAIM_PAUSES[0])
            self._services.confirm_leadership()
            self.start()
            return
        for pause in CLAIM_PAUSES:
            self.confirm()
            self._services.runtime.sleep(pause)
        self._services.refuse_shared_id()
        self.start()
        self._refuse_if_any_taken()

    def _refuse_if_any_taken(self) -> None:
        for name, generation in tuple(self._generations.items()):
            self._refuse_if_taken(name, self._topic.entry(name), expected=generation)

    def _refuse_if_taken(self, name: str, seen: ConnectorEntry, expected: int | None) -> None:
        if seen.generation == expected or seen.committed_by == self._services.worker:
            return
        self.superseded = True
        raise SupersededError(
            f"connector {name} was taken over by generation {seen.generation}, worker {seen.committed_by}; "
            f"another run of group {self._services.group_id} is under way"
        )

    def _step(self, step: TaskStep, connector: str, generation: int | None = None, **detail: object) -> None:
        runtime = self._services.runtime
        self._services.announce(
            StepEvent(
                step=step,
                at=runtime.now(),
                wall=runtime.wall(),
                connector=connector,
                generation=generation,
                transactional_id=self._writer.transactional_id,
                detail=detail,
            )
        )

    def close(self) -> None:
        """Close the producer; from any thread. Fencing requests that wait fail."""
        self._zombie_fencing.cancel()
        try:
            self._writer.close()
        except EosfwError:
            return
