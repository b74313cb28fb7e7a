"""The startup of a task, in the order that fences every zombie (KIP-618, FEN-09)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from eosfw.errors import RetriableError, SupersededError, TaskFailedError
from eosfw.observe.plugin_metrics import OwnerMetrics
from eosfw.protocols import Admin, TransactionalProducer
from eosfw.runtime.storage.connector_offset_backing_store import ConnectorOffsetBackingStore, OffsetTopics, confirmed
from eosfw.runtime.storage.internal_topics import ensure_connector_offsets_topic
from eosfw.runtime.storage.kafka_based_log import READ_TIMEOUT
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader
from eosfw.runtime.storage.stalled_read import stalls_explained
from eosfw.runtime.storage.topic_creation import ensure_topic
from eosfw.runtime.tasks.control import TaskControl
from eosfw.runtime.tasks.plan import AssignedTask, TaskPlan
from eosfw.runtime.tasks.resources import TaskResources
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.status_recorder import TaskStatusRecorder
from eosfw.state.fencing.failure import may_pass
from eosfw.state.fencing.task_ownership import TaskOwnership, ownership_before_init, task_ownership
from eosfw.state.steps import TaskStep
from eosfw.state.storage.config_log import ConnectorEntry


class StopRequestedError(Exception):
    """The task was stopped before it changed anything in the cluster."""


@dataclass(frozen=True, slots=True)
class StartupResult:
    """What a start gives to the task: its plan, its producer and admin client, the committed offsets."""

    plan: TaskPlan
    producer: TransactionalProducer
    admin: Admin
    offsets: ConnectorOffsetBackingStore
    metrics: OwnerMetrics


class TaskStartup:
    """One run of the startup protocol; each step is announced before it is done.

    Kafka Connect's `ExactlyOnceWorkerSourceTask.prepareToInitializeTask` and `initializeAndStart`.
    """

    def __init__(self, task: AssignedTask, services: WorkerServices, recorder: TaskStatusRecorder) -> None:
        self._task, self._services, self._recorder = task, services, recorder

    def run(self, control: TaskControl, resources: TaskResources) -> StartupResult:
        """Do all steps up to READ_OFFSETS; raise where one fails, RetriableError if the next run may succeed."""
        # Fencing comes first of all: what follows reads and writes as if no earlier producer were at work.
        if self._task.exactly_once:
            self._fence_zombies()
        plan = self._plan()
        if plan.record_parts is not None:
            # Before any client: a part may hold connections as well, and a start that fails closes whatever is
            # registered.
            resources.register(plan.record_parts)
        metrics = resources.register(self._services.plugin_metrics.of_task(self._task.id))
        if plan.record_parts is not None:
            plan.record_parts.register_metrics(metrics.of)
        admin = resources.register(self._services.backend.admin(plan.clients.admin))
        plan = replace(plan, offset_topics=self._check_offsets_topic(plan, admin))
        # Offsets are read behind init_transactions: until then an earlier holder of the id could still commit newer
        # ones.
        producer = (
            self._own_producer(plan, control, resources) if plan.exactly_once else self._producer(plan, resources)
        )
        # The topic is read after init_transactions. If a newer generation was committed before, this task sees it now
        # and stops; if one comes later, its round of fencing covers the producer that was just initialised (KIP-618).
        # Without exactly-once it is read before the offsets: they may be altered once the connector was stopped, and
        # this worker may not have read yet that it was.
        self._recorder.step(TaskStep.READ_CONFIG)
        with self._services.config_topic.reader() as reader, resources.kept(reader):  # a kill closes it under the read
            reader.read_to_end()
        self._recorder.step(TaskStep.CHECK_OWNERSHIP)
        self._refuse_unless_owner()
        return StartupResult(plan, producer, admin, self._read_offsets(plan, admin, resources), metrics)

    def _fence_zombies(self) -> None:
        self._recorder.step(TaskStep.REQUEST_FENCING)
        try:
            self._services.leader.fence_zombies(self._task.id.connector, self._task.generation)
        except Exception as error:
            # A round that a newer generation has cancelled is no failure: then the task is superseded.
            self._refuse_unless_owner()
            failure = f"earlier producers could not be fenced: {error}"
            if may_pass(error):
                raise RetriableError(failure) from error
            raise TaskFailedError(f"task {self._task.id} cannot start: {failure}") from error
        self._recorder.step(TaskStep.CHECK_TASK_COUNT)
        self._refuse_unless_owner(ownership_before_init)

    def _plan(self) -> TaskPlan:
        """The plan by the config topic alone: what the worker knew when the task was assigned may be outdated."""
        entry = self._services.config_topic.entry(self._task.id.connector)
        if task_ownership(entry, self._task.generation, assigned=True) is not TaskOwnership.OWNER:
            raise superseded(self._task, entry)
        return self._services.planner.plan(self._task, entry)

    def _check_offsets_topic(self, plan: TaskPlan, admin: Admin) -> OffsetTopics:
        self._recorder.step(TaskStep.CHECK_OFFSETS_TOPIC)
        # Before the producer is there: a task that is refused here has taken no transactional id over.
        topics = confirmed(plan.offset_topics, admin, self._services.worker_offsets)
        if topics.own:
            ensure_connector_offsets_topic(admin, topics.topic)
        else:
            ensure_topic(admin, topics.topic)
        return topics

    def _own_producer(self, plan: TaskPlan, control: TaskControl, resources: TaskResources) -> TransactionalProducer:
        self._recorder.step(TaskStep.INIT_PRODUCER)
        if control.stopping:  # to initialise now would fence the task's successor (TXN-14)
            raise StopRequestedError
        producer = self._producer(plan, resources)
        producer.init_transactions(plan.transaction_timeout)
        return producer

    def _producer(self, plan: TaskPlan, resources: TaskResources) -> TransactionalProducer:
        return resources.register(
            self._services.backend.producer(
                self._task.transactional_id,
                transaction_timeout=plan.transaction_timeout,
                properties=plan.clients.producer,
            )
        )

    def _read_offsets(self, plan: TaskPlan, admin: Admin, resources: TaskResources) -> ConnectorOffsetBackingStore:
        self._recorder.step(TaskStep.READ_OFFSETS)
        services, topics = self._services, plan.offset_topics
        store = ConnectorOffsetBackingStore(
            plan.id.connector, topics, plan.store, services.worker_offsets, self._recorder.offset_backup_failed
        )
        reader = OffsetStorageReader(
            admin,
            services.backend.reader(topics.isolation, properties=plan.clients.consumer),
            topics.setting,
            stall_timeout=plan.transaction_timeout + READ_TIMEOUT,
            close_admin=False,
            records=topics.known(services.worker_offsets),
        )
        with stalls_explained(services.backend, services.group_id):
            store.load(reader, resources.lent)
        store.delete_hidden()
        return store

    def _refuse_unless_owner(self, check: Callable[..., TaskOwnership] = task_ownership) -> None:
        task, services = self._task, self._services
        assigned = services.member.is_assigned(task.id, task.generation)
        seen = services.config_topic.entry(task.id.connector)
        match check(seen, task.generation, assigned=assigned):
            case TaskOwnership.OWNER:
                return
            case TaskOwnership.UNFENCED:
                raise TaskFailedError(
                    f"task {task.id} cannot start: no task count record follows its task configurations, so "
                    f"earlier producers may still be at work; start the connector again"
                )
            case _:
                raise superseded(task, seen)


def superseded(task: AssignedTask, seen: ConnectorEntry) -> SupersededError:
    """The error that names the generation and worker that own the task now."""
    if seen.properties is None:
        return SupersededError(f"task {task.id} of generation {task.generation}: its connector was deleted")
    if seen.generation == task.generation and not seen.has_generation(task.generation):
        return SupersededError(
            f"task {task.id} of generation {task.generation}: its connector was deleted and created anew"
        )
    if seen.generation == task.generation:
        return SupersededError(
            f"task {task.id} of generation {task.generation} belongs to another worker of its group now"
        )
    worker = seen.committed_by or "of another kind"
    return SupersededError(
        f"task {task.id} of generation {task.generation} was fenced by generation {seen.generation}, worker {worker}"
    )
