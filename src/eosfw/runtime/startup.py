"""Start a task in the order that lets no zombie through (KIP-618, FEN-09)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eosfw.concurrency import Event
from eosfw.errors import SupersededError, TaskFailedError
from eosfw.protocols import Admin, IsolationLevel, TransactionalProducer
from eosfw.records import SourceOffset, SourcePartition
from eosfw.runtime.belongings import Belongings
from eosfw.runtime.board import TaskBoard
from eosfw.runtime.config_topic import READ_TIMEOUT
from eosfw.runtime.offsets import read_offsets
from eosfw.runtime.plan import Surroundings, TaskPlan
from eosfw.runtime.topics import ensure_offsets_topic
from eosfw.state.config_log import ConnectorEntry
from eosfw.state.steps import TaskStep
from eosfw.state.task_ownership import TaskOwnership, ownership_before_init, task_ownership


class StopAskedError(Exception):
    """The task was asked to stop before it did anything that others could notice."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a start leaves behind: a producer that owns its id, an admin client, the offsets to go on from."""

    producer: TransactionalProducer
    admin: Admin
    offsets: Mapping[str, tuple[SourcePartition, SourceOffset]]


class Startup:
    """One run of the startup protocol; each step is announced, then done."""

    def __init__(self, plan: TaskPlan, around: Surroundings, board: TaskBoard) -> None:
        self._plan, self._around, self._board = plan, around, board

    def run(self, stop: Event, belongings: Belongings) -> Started:
        """Go through all steps up to READ_OFFSETS; raise at the first that says no."""
        if self._plan.exactly_once:
            self._fence_zombies()
        admin = belongings.add(self._around.backend.admin(self._plan.clients.admin))
        self._check_offsets_topic(admin)
        producer = self._own_producer(stop, belongings) if self._plan.exactly_once else self._producer(belongings)
        return Started(producer, admin, self._read_offsets(admin, belongings))

    def _fence_zombies(self) -> None:
        self._board.step(TaskStep.REQUEST_FENCING)
        try:
            self._around.request_fencing(self._plan.id.connector, self._plan.generation)
        except Exception as error:
            self._refuse_unless(self._ownership(), TaskOwnership.OWNER)
            raise TaskFailedError(
                f"task {self._plan.id} cannot start: earlier producers could not be fenced: {error}"
            ) from error
        self._board.step(TaskStep.CHECK_TASK_COUNT)
        self._refuse_unless(self._ownership(before_init=True), TaskOwnership.OWNER)

    def _check_offsets_topic(self, admin: Admin) -> None:
        self._board.step(TaskStep.CHECK_OFFSETS_TOPIC)
        topic = self._plan.offsets_topic
        ensure_offsets_topic(admin, topic.name, topic.partitions, topic.replication_factor)

    def _own_producer(self, stop: Event, belongings: Belongings) -> TransactionalProducer:
        self._board.step(TaskStep.INIT_PRODUCER)
        if stop.is_set():  # initialising now would fence a successor (TXN-14)
            raise StopAskedError
        producer = self._producer(belongings)
        producer.init_transactions(self._plan.transaction_timeout)
        self._board.step(TaskStep.READ_CONFIG)
        self._read_config(belongings)
        self._board.step(TaskStep.CHECK_OWNERSHIP)
        self._refuse_unless(self._ownership(), TaskOwnership.OWNER)
        return producer

    def _read_config(self, belongings: Belongings) -> None:
        with self._around.config_topic.reader() as reader:
            belongings.add(reader)
            try:
                reader.read_to_end()
            finally:
                belongings.forget(reader)

    def _producer(self, belongings: Belongings) -> TransactionalProducer:
        plan = self._plan
        return belongings.add(
            self._around.backend.producer(
                plan.transactional_id,
                transaction_timeout=plan.transaction_timeout,
                properties=plan.clients.producer,
            )
        )

    def _read_offsets(self, admin: Admin, belongings: Belongings) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
        self._board.step(TaskStep.READ_OFFSETS)
        plan, backend = self._plan, self._around.backend
        isolation = IsolationLevel.READ_COMMITTED if plan.exactly_once else IsolationLevel.READ_UNCOMMITTED
        reader = belongings.add(backend.reader(isolation, properties=plan.clients.consumer))
        try:
            return read_offsets(
                plan.id.connector,
                plan.offsets_topic.name,
                plan.store,
                admin,
                reader,
                stall_timeout=plan.transaction_timeout + READ_TIMEOUT,
            )
        finally:
            reader.close()

    def _ownership(self, *, before_init: bool = False) -> TaskOwnership:
        ask = ownership_before_init if before_init else task_ownership
        plan, around = self._plan, self._around
        assigned = around.membership.is_assigned(plan.id, plan.generation)
        return ask(around.config_topic.entry(plan.id.connector), plan.generation, assigned=assigned)

    def _refuse_unless(self, found: TaskOwnership, wanted: TaskOwnership) -> None:
        if found is wanted:
            return
        if found is TaskOwnership.UNFENCED:
            raise TaskFailedError(
                f"task {self._plan.id} cannot start: no task count record follows its task configurations, so "
                f"earlier producers may still be at work; start the connector again"
            )
        raise superseded(self._plan, self._around.config_topic.entry(self._plan.id.connector))


def superseded(plan: TaskPlan, seen: ConnectorEntry) -> SupersededError:
    """Say who took the task over."""
    if seen.properties is None:
        return SupersededError(f"task {plan.id} of generation {plan.generation}: its connector was deleted")
    worker = seen.committed_by or "of another kind"
    return SupersededError(
        f"task {plan.id} of generation {plan.generation} was fenced by generation {seen.generation}, worker {worker}"
    )
