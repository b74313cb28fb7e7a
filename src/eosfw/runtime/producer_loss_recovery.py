"""Decides whether a task that lost its producer stops or starts over (KIP-618)."""

from __future__ import annotations

import logging
from contextlib import closing

from eosfw.errors import ConfigError, EosfwError, IndefiniteOutcomeError, Problem
from eosfw.runtime.id_collision_check import collision_text, find_colliding_users, initialized_by_other
from eosfw.runtime.status_recorder import TaskStatusRecorder
from eosfw.runtime.task_plan import AssignedTask
from eosfw.runtime.task_startup import superseded
from eosfw.runtime.worker_services import WorkerServices
from eosfw.state.config_log import ConnectorEntry
from eosfw.state.id_collisions import colliding_users
from eosfw.state.producer_loss import ProducerLossDecision, decide_after_producer_loss
from eosfw.state.steps import TaskStep
from eosfw.state.task_ownership import task_ownership

logger = logging.getLogger(__name__)

REMEDIES = (
    "If its transaction ran longer than transaction.timeout.ms: raise `producer.override.transaction.timeout.ms`, "
    "shorten `transaction.boundary.interval.ms`, use `transaction.boundary=poll`, or tune the producer's throughput."
)


class ProducerLossRecovery:
    """Counts the losses of one task, and checks after each whether the task still owns its share."""

    def __init__(self, task: AssignedTask, services: WorkerServices, recorder: TaskStatusRecorder) -> None:
        self._task, self._services, self._recorder = task, services, recorder
        self._losses = 0
        self._taken = 0
        """Losses after which the coordinator knew another holder of the id."""

    def check(self, error: EosfwError) -> None:
        """Return if the task may start over; raise SupersededError if it is superseded, another error to end it."""
        task, services = self._task, self._services
        indefinite = isinstance(error, IndefiniteOutcomeError)
        if not indefinite:
            self._recorder.step(TaskStep.FENCED, error=str(error))
        with services.config_topic.reader() as reader:
            reader.read_to_end()
        seen = services.config_topic.entry(task.id.connector)
        self._losses += 1
        assigned = services.member.is_assigned(task.id, task.generation)
        verdict = decide_after_producer_loss(task_ownership(seen, task.generation, assigned=assigned), self._losses)
        if verdict is ProducerLossDecision.STOP_SUPERSEDED:
            raise superseded(task, seen) from error
        if not indefinite and task.exactly_once:
            self._look_for_other_users(seen, error)
        if verdict is ProducerLossDecision.FAIL:
            raise type(error)(
                f"task {task.id} lost its producer {self._losses} times within generation {task.generation}: {error}. "
                f"{self._advice()}"
            ) from error
        self._notify(error, indefinite=indefinite)
        self._recorder.open_records = 0

    def _look_for_other_users(self, seen: ConnectorEntry, error: EosfwError) -> None:
        """Raise ConfigError if another group on the cluster uses the same transactional id."""
        task, services, own = self._task, self._services, str(self._task.transactional_id)
        try:
            found = find_colliding_users(services.backend, self._group_id, services.config_topic.partition.topic, [own])
            if services.backend.capabilities.describe_transactions:
                with closing(services.backend.admin(services.planner.plan(task, seen).clients.admin)) as admin:
                    self._taken += initialized_by_other(admin, own)
        except EosfwError as why:  # the loss itself is reported, not that its reason was not found
            logger.warning("task %s could not look who else uses its transactional id: %s", task.id, why)
            return
        if found:
            raise ConfigError(Problem(f"task {task.id} was fenced", collision_text(own, found[own]))) from error

    def _advice(self) -> str:
        own = str(self._task.transactional_id)
        others = " or ".join(map(str, colliding_users(own, self._group_id)))
        if self._taken:
            named = f", such as {others}," if others else ""
            return (
                f"Somebody else took transactional id {own!r} over {self._taken} times, though the config topic has no "
                f"newer generation: another worker group{named} or an application uses it, too. Rename one of them"
            )
        if others:
            return f"{REMEDIES} Or its transactional id {own!r} is also that of {others}: rename one of them."
        return REMEDIES

    @property
    def _group_id(self) -> str:
        return str(self._task.transactional_id).removesuffix(f"-{self._task.id}")

    def _notify(self, error: EosfwError, *, indefinite: bool) -> None:
        kind = "indefinite outcome" if indefinite else "fenced while owner"
        what = (
            "does not know whether its transaction committed" if indefinite else "lost its producer, yet owns its share"
        )
        remedies = "" if indefinite else f" {REMEDIES}"
        self._recorder.notice(
            kind, f"task {self._task.id} {what} ({error}); it starts over from the committed offsets.{remedies}"
        )
