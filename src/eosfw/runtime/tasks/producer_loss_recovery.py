"""Decides whether a task that lost its producer stops or starts over (KIP-618)."""

from __future__ import annotations

import logging
from contextlib import closing

from eosfw.errors import (
    ConfigError,
    EosfwError,
    IndefiniteOutcomeError,
    InvalidPidMappingError,
    Problem,
    TransactionalIdNotFoundError,
)
from eosfw.runtime.checks.id_collision_check import collision_text, find_colliding_users, initialized_by_other
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.startup import superseded
from eosfw.runtime.tasks.status_recorder import TaskStatusRecorder
from eosfw.state.fencing.id_collisions import colliding_users
from eosfw.state.fencing.producer_loss import (
    FencingCause,
    ProducerLossDecision,
    decide_after_producer_loss,
    fencing_cause,
)
from eosfw.state.fencing.task_ownership import TaskOwnership, task_ownership
from eosfw.state.steps import TaskStep
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.transactions import TransactionDescription

logger = logging.getLogger(__name__)

REMEDIES = (
    "Raise `producer.override.transaction.timeout.ms`, shorten `transaction.boundary.interval.ms`, use "
    "`transaction.boundary=poll`, or tune the producer's throughput."
)
_KINDS = {
    FencingCause.TRANSACTION_TIMEOUT: "fenced while owner",
    FencingCause.OTHER_CLIENT: "fenced by another client",
    FencingCause.ID_EXPIRED: "transactional id expired",
}


class ProducerLossRecovery:
    """Counts the losses of one task, and checks after each whether the task still owns its share."""

    def __init__(self, task: AssignedTask, services: WorkerServices, recorder: TaskStatusRecorder) -> None:
        self._task, self._services, self._recorder = task, services, recorder
        self._losses = 0
        self._taken = 0
        """Losses for which another holder of the id is to blame."""

    def check(self, error: EosfwError, *, overran: bool) -> None:
        """Return if the task may start over; raise SupersededError if it is superseded, another error to end it.

        `overran` says whether the transaction that is lost was open for its whole timeout.
        """
        task, services = self._task, self._services
        if not isinstance(error, IndefiniteOutcomeError | InvalidPidMappingError):
            self._recorder.step(TaskStep.FENCED, error=str(error))
        # Read before anybody is asked: a newer generation that is not read yet would pass for a timeout.
        services.config_topic.read_to_end()
        seen = services.config_topic.entry(task.id.connector)
        self._losses += 1
        assigned = services.member.is_assigned(task.id, task.generation)
        ownership = task_ownership(seen, task.generation, assigned=assigned)
        verdict = decide_after_producer_loss(ownership, self._losses)
        if verdict is ProducerLossDecision.STOP_SUPERSEDED:
            raise superseded(task, seen) from error
        cause = None
        # A lost answer has no cause to look for: nobody has fenced anything, as far as it is known.
        if task.exactly_once and not isinstance(error, IndefiniteOutcomeError):
            self._look_for_other_users(error)
            cause = self._cause(ownership, seen, error, overran=overran)
        if verdict is ProducerLossDecision.FAIL:
            raise type(error)(
                f"task {task.id} lost its producer {self._losses} times within generation {task.generation}, "
                f"at last because {_because(cause)} ({error}). {self._advice()}"
            ) from error
        self._notify(error, cause)
        self._recorder.open_records = 0

    def _cause(
        self, ownership: TaskOwnership, seen: ConnectorEntry, error: EosfwError, *, overran: bool
    ) -> FencingCause:
        described = self._describe(seen)
        expired = isinstance(error, InvalidPidMappingError) or isinstance(described, TransactionalIdNotFoundError)
        taken = initialized_by_other(described)
        cause = fencing_cause(ownership, expired=expired, taken=taken, overran=overran)
        self._taken += cause is FencingCause.OTHER_CLIENT
        logger.info("task %s lost its producer: %s", self._task.id, cause.value)
        return cause

    def _describe(self, seen: ConnectorEntry) -> TransactionDescription | EosfwError | None:
        """What the coordinator knows of the id; None where the client cannot ask, or gets no answer."""
        services, own = self._services, str(self._task.transactional_id)
        if not services.backend.capabilities.describe_transactions:
            return None
        try:
            with closing(services.backend.admin(services.planner.plan(self._task, seen).clients.admin)) as admin:
                return admin.describe_transactions([own])[own]
        except EosfwError as why:  # the loss itself is reported, not that its reason was not found
            logger.warning("task %s could not ask who holds its transactional id: %s", self._task.id, why)
            return None

    def _look_for_other_users(self, error: EosfwError) -> None:
        """Raise ConfigError if another group on the cluster uses the same transactional id."""
        task, services, own = self._task, self._services, str(self._task.transactional_id)
        try:
            found = find_colliding_users(services.backend, self._group_id, services.config_topic.partition.topic, [own])
        except EosfwError as why:
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

    def _notify(self, error: EosfwError, cause: FencingCause | None) -> None:
        kind = "indefinite outcome" if cause is None else _KINDS[cause]
        text = f"task {self._task.id} lost its producer, since {_because(cause)} ({error}); it still owns its share"
        remedies = f" {REMEDIES}" if cause is FencingCause.TRANSACTION_TIMEOUT else ""
        self._recorder.notice(kind, f"{text}, and starts over from the committed offsets.{remedies}")


def _because(cause: FencingCause | None) -> str:
    return "nobody knows whether its transaction committed" if cause is None else cause.value
