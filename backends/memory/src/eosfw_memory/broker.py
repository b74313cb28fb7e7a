"""Hold the state of a cluster of one broker: topics, the transaction coordinator, the clock.

Concurrency: one re-entrant lock for the whole broker, taken for the moment a handler runs and never across waiting.
Handlers are plain functions of a few microseconds, so finer locks would cost more than they give, and one lock lets
calls from inside the process come in by the same door as the wire (`serve`), from any thread, without passing through
the wire's event loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from eosfw.concurrency import Runtime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel, OpenTransaction
from eosfw_memory.background_tasks import BackgroundTasks
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators.coordinator_snapshot import decode, encode
from eosfw_memory.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.coordinators.groups.offsets_topic import OffsetsTopic
from eosfw_memory.coordinators.transaction_coordinator import TransactionCoordinator
from eosfw_memory.coordinators.transaction_log import TransactionStateTopic
from eosfw_memory.coordinators.transaction_metadata import NO_PRODUCER_ID, TransactionMetadata
from eosfw_memory.delayed_operation import Answer, DelayedOperation
from eosfw_memory.interceptors import BrokerStoppedError
from eosfw_memory.log.leader_epochs import LEADER_EPOCHS_PER_START
from eosfw_memory.log.log_results import LogAppendInfo
from eosfw_memory.log.partition_log import PartitionLog
from eosfw_memory.log_errors import KafkaStorageError
from eosfw_memory.log_manager import LogManager
from eosfw_memory.records.batch import BatchHeader, split
from eosfw_memory.records.markers import Marker
from eosfw_memory.records.transaction_result import TransactionResult
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.storage.topic_storage import InMemoryTopicStorage, LogDirDescription, TopicStorage
from eosfw_memory.topics import GROUP_LOG, INTERNAL, TRANSACTION_LOG, NewTopic, Partition, Topic, Topics
from eosfw_memory.transaction_completion import StepwiseCompletion, transactional_id_of
from eosfw_memory.unknown_transactions import end_unknown

_LOG = logging.getLogger(__name__)
NODE_ID = 1
_INTERNAL = {"cleanup.policy": "compact", "segment.bytes": str(100 << 20)}
"""Kafka's defaults for the broker's own topics."""
_GROUP_TICK_MS = 250
"""How exactly sessions of group members end."""
_OFFSETS_CHECK_MS = 600_000
"""Kafka's default for `offsets.retention.check.interval.ms`."""


class Context(NamedTuple):
    """What a handler knows of a request besides its fields."""

    version: int
    client_id: str = ""
    client_host: str = ""
    """The client's address, as Kafka shows it: with a slash before it."""
    in_process: bool = False
    """Whether it comes from our own client in this very process, hence its batches from our own codec."""


Handler: TypeAlias = Callable[["Broker", Any, Context], "Answer | DelayedOperation | None"]
"""Answers one kind of request; None means that the client wants no answer."""
AppendRecords: TypeAlias = Callable[[Partition, bytes | memoryview, int, BatchHeader, bool], LogAppendInfo]
"""Appends a client's batch at a time of the broker's clock; the last says whether our own codec has made it."""


def append_records(
    partition: Partition,
    batch: bytes | memoryview,
    now_ms: int,
    header: BatchHeader,
    encoded_in_process: bool,  # noqa: FBT001 - a seam has positions only
) -> LogAppendInfo:
    """Append a client's batch, wake who waits for it."""
    appended = partition.log.append(batch, now_ms, header, encoded_in_process=encoded_in_process)
    partition.changed()
    return appended


class Broker:
    """A broker without a network."""

    def __init__(
        self, settings: Settings, endpoint: Endpoint, runtime: Runtime, storage: TopicStorage | None = None
    ) -> None:
        self.settings = settings
        self.endpoint = endpoint
        self._storage = InMemoryTopicStorage() if storage is None else storage
        self.cluster_id = self._storage.cluster_id
        self.topics = Topics(self._storage, settings.topic_defaults)
        self.lock = runtime.lock()
        self._runtime = runtime
        self._began = runtime.wall() - runtime.now()
        self.interceptor: Callable[[Handler], Handler] | None = None
        """What code from outside puts around every handler."""
        self.append_records: AppendRecords = append_records
        self._up_at = 0.0
        self.restarts = 0
        """How often it was started anew: answers that were put off before will never come."""
        self._upon_restart: list[Callable[[], None]] = []
        kept = decode(self._storage.take_coordinator_snapshot(self._internal_logs()))
        self.coordinator = TransactionCoordinator(
            TransactionStateTopic(self.transaction_log, kept.transactions),
            self._write_coordinators_marker,
            self._storage.producer_ids,
            config=settings.transactions,
        )
        self.groups = GroupCoordinator(
            OffsetsTopic(self.group_log, kept.groups),
            settings.groups,
        )
        self.background_tasks = BackgroundTasks()
        """What the broker does by itself; any part may add its own."""
        self._add_duties()
        LogManager(self.topics, settings).add_to(self.background_tasks, self.now_ms())
        self._group_fsync = self._storage.group_fsync(self.lock, runtime)
        self._load()
        if self._storage.restored:
            self._fence_all()

    def now_ms(self) -> int:
        """Milliseconds since 1970 by a clock that never goes back, so that no timeout is cut short or drawn out."""
        return int((self._began + self._runtime.now()) * 1000)

    # --- the door, for the wire and for callers inside the process alike

    def serve(self, handler: Handler, request: Any, context: Context) -> Answer | DelayedOperation | None:
        """Run a handler; any thread may call. Call `settle` once the answer is on its way."""
        with self.lock:
            if self.interceptor is not None:
                handler = self.interceptor(handler)
            if self._group_fsync is None:
                return handler(self, request, context)
            name = transactional_id_of(request)
            return self._group_fsync.after_transaction_end(name, lambda: self._durably(handler, request, context))

    def _durably(self, handler: Handler, request: Any, context: Context) -> Answer | DelayedOperation | None:
        """Run a handler; its answer waits until what it tells of is on the disk."""
        assert self._group_fsync is not None
        answer = handler(self, request, context)
        return self._group_fsync.after_fsync(answer, lambda: handler(self, request, context))  # type: ignore[arg-type,return-value]

    def attempt(self, deferred: DelayedOperation, *, expired: bool) -> Answer | None:
        """Try a deferred answer again."""
        with self.lock:
            return deferred.attempt(expired)

    def await_answer(self, deferred: DelayedOperation, wake: Callable[[], None]) -> None:
        """Have `wake` called whenever a deferred answer is worth another attempt."""
        with self.lock:
            deferred.subscribe(wake)

    def give_up(self, deferred: DelayedOperation) -> None:
        """Stop waiting for a deferred answer."""
        with self.lock:
            deferred.cancel()

    def settle(self) -> None:
        """Write the markers of transactions that were decided (EndTxn is answered before, as Kafka does)."""
        if self.coordinator.unfinished:
            with self.lock:
                if self._group_fsync is None:
                    self._finish()
                else:
                    self._group_fsync.request_flush()

    def close(self) -> None:
        """Leave what is kept in good order; nobody calls the broker any more."""
        if self._group_fsync is not None:
            self._group_fsync.close()
        with self.lock:
            self._storage.save_coordinator_snapshot(self._internal_logs(), self._state)
            self._storage.close(self.topics.logs())

    def _load(self) -> None:
        """Rebuild every state from its log, then go on with the transactions that were decided (COR-14)."""
        if self.topics.by_name(TRANSACTION_LOG) is not None:
            self.coordinator.load()
            self.coordinator.on_clock_moved_back(self.now_ms())
        if self.topics.by_name(GROUP_LOG) is not None:
            self.groups.load(self.now_ms())
            # A stop may have come between the end of a topic and that of its offsets.
            self.groups.on_topics_deleted(lambda name: self.topics.by_name(name) is None, self.now_ms())
        end_unknown(self)
        if self._group_fsync is not None:
            self._group_fsync.start(StepwiseCompletion(self))
        self.settle()

    def _fence_all(self) -> None:
        """Shut out the producers that may have seen what an older copy of the data does not know."""
        for name in self.coordinator.fence_all(self.now_ms()):
            _LOG.warning("transactional id %r: whoever holds it was fenced", name)
        self._storage.producers_fenced()
        self.settle()

    def run_due_tasks(self) -> None:
        """Do what is due of all that a broker does by itself."""
        with self.lock:
            try:
                self.background_tasks.run(self.now_ms())
            except BrokerStoppedError as stopped:
                self.restart(stopped.down)
        self.settle()

    def idle_seconds(self) -> float:
        """How long until `run_due_tasks` has something to do."""
        with self.lock:
            return self.background_tasks.wait_ms(self.now_ms()) / 1000

    def _add_duties(self) -> None:
        settings, now_ms = self.settings, self.now_ms()
        self.background_tasks.add(
            "ending late transactions", settings.abort_timed_out_interval_ms, self._abort_timed_out, now_ms
        )
        self.background_tasks.add(
            "forgetting transactional ids", settings.expire_ids_interval_ms, self._expire_ids, now_ms
        )

        self.background_tasks.add(
            "ending sessions of groups", _GROUP_TICK_MS, self.groups.tick, now_ms, self.groups.is_empty
        )
        self.background_tasks.add("forgetting offsets of groups", _OFFSETS_CHECK_MS, self.groups.expire_offsets, now_ms)

    def _abort_timed_out(self, now_ms: int) -> None:
        for name in self.coordinator.abort_timed_out(now_ms):
            _LOG.info("transaction of %r was open beyond its timeout: aborted, its producer fenced", name)

    def _expire_ids(self, now_ms: int) -> None:
        for name in self.coordinator.expire(now_ms):
            _LOG.info("transactional id %r was not used for long: forgotten", name)

    # --- starting anew

    @property
    def down(self) -> bool:
        """Whether the broker is away after a restart."""
        return self._up_at > 0.0 and self._runtime.now() < self._up_at

    @property
    def seconds_down(self) -> float:
        """How long it is still away."""
        return max(0.0, self._up_at - self._runtime.now())

    def restart(self, down: float = 0.0) -> None:
        """Stop on the spot, start anew from the logs: every connection is dropped, what was only in memory is gone.

        For `down` seconds it serves nobody.
        """
        with self.lock:
            self._up_at = self._runtime.now() + down
            self.restarts += 1
            self._begin_leader_epochs()
            for log in self.topics.logs().values():
                log.rebuild_producer_state()
            self._load()
            for drop in self._upon_restart:
                drop()

    def _begin_leader_epochs(self) -> None:
        """Lead every partition in a later epoch, as a start does, unless it cannot be kept that one was begun."""
        with suppress(KafkaStorageError):
            self._storage.begin_epoch()
            for log in self.topics.logs().values():
                log.assign_epoch(log.leader_epoch + LEADER_EPOCHS_PER_START)

    def upon_restart(self, drop: Callable[[], None]) -> None:
        """Have `drop` called, on whatever thread, when all connections must go."""
        self._upon_restart.append(drop)

    def jump(self, seconds: float) -> None:
        """Let time go by at once, or with less than 0 go back; the next `run_due_tasks` sees what ran out."""
        with self.lock:
            self._began += seconds
            now_ms = self.now_ms()
            self.background_tasks.on_clock_moved_back(now_ms)
            self.coordinator.on_clock_moved_back(now_ms)
            self.groups.on_clock_moved_back(now_ms)
            for log in self.topics.logs().values():
                log.on_clock_moved_back(now_ms)

    def act(self, run: Callable[[], None]) -> None:
        """Do what no client asks for just now."""
        with self.lock:
            run()
        self.settle()

    def _finish(self) -> None:
        while not self.down:
            try:
                self.coordinator.finish(self.now_ms())
            except BrokerStoppedError as stopped:  # started anew, it goes on with the markers
                self.restart(stopped.down)
            else:
                break

    # --- topics

    def wanted_by_client(self, names: Iterable[str]) -> Iterator[NewTopic]:
        """Those topics that Kafka creates for clients that ask about them."""
        if self.settings.auto_create_topics:
            missing = (name for name in names if name not in INTERNAL and self.topics.by_name(name) is None)
            yield from (NewTopic(name, self.settings.num_partitions) for name in missing)

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic, then whatever groups committed for it."""
        self.topics.delete(topic)
        self.groups.on_topics_deleted(lambda name: name == topic.name, self.now_ms())

    def transaction_log(self) -> Topic:
        """The topic of the transaction log, made when first needed."""
        partitions = self.settings.transaction_log_partitions
        return self.topics.by_name(TRANSACTION_LOG) or self.topics.create(
            TRANSACTION_LOG, partitions, {**_INTERNAL, "compression.type": "uncompressed"}
        )

    def group_log(self) -> Topic:
        """The topic of consumer groups with their offsets, made when first needed."""
        partitions = self.settings.offsets_topic_partitions
        return self.topics.by_name(GROUP_LOG) or self.topics.create(
            GROUP_LOG, partitions, {**_INTERNAL, "compression.type": "producer"}
        )

    def _state(self) -> bytes:
        return encode(self.coordinator.transactions(), self.groups.snapshot())

    def _internal_logs(self) -> list[PartitionLog]:
        topics = filter(None, map(self.topics.by_name, sorted(INTERNAL)))
        return [partition.log for topic in topics for partition in topic.partitions]

    def offsets_partition(self, group_id: str) -> TopicPartition:
        """The partition that keeps a group's offsets."""
        return TopicPartition(GROUP_LOG, self.groups.partition_of(group_id))

    # --- looking in

    def describe_log_dir(self) -> LogDirDescription:
        """Where all data are, with how much room there is."""
        return self._storage.describe_log_dir()

    def open_transactions(self) -> list[OpenTransaction]:
        """Every transaction that holds back a last stable offset, once for each partition it has written to."""
        with self.lock:
            now_ms = self.now_ms()
            return [
                found
                for known in self.coordinator.transactions()
                for where in sorted(known.partitions)
                if (found := self._open_in(known, where, now_ms)) is not None
            ]

    def producer_of(self, where: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """The producer whose batch holds an offset, if it has an id."""
        partition = self.topics.partition(*where)
        if partition is None:
            return None
        with self.lock:
            held = partition.log.fetch(offset, 1, IsolationLevel.READ_UNCOMMITTED).records
            headers = [header for header, _ in split(held)]
        found = next((one for one in headers if one.base_offset <= offset <= one.last_offset), None)
        if found is None or found.producer_id == NO_PRODUCER_ID:
            return None
        return ProducerIdAndEpoch(found.producer_id, found.producer_epoch)

    def _open_in(self, known: TransactionMetadata, where: TopicPartition, now_ms: int) -> OpenTransaction | None:
        partition = self.topics.partition(*where)
        first = None if partition is None else partition.log.first_offset_of(known.producer_id)
        if first is None:
            return None
        age = (now_ms - known.started_ms) / 1000
        return OpenTransaction(known.transactional_id, known.producer, where, first, age)

    def write_marker(
        self, where: TopicPartition, producer: ProducerIdAndEpoch, result: TransactionResult, coordinator_epoch: int
    ) -> None:
        """End a producer's transaction in one partition, whoever says so; KafkaError if the partition refuses."""
        partition = self.topics.partition(where.topic, where.partition)
        if partition is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION)
        partition.log.append_marker(producer, result, coordinator_epoch, self.now_ms())
        if where.topic == GROUP_LOG:
            self.groups.transaction_ended(where.partition, producer.producer_id, result)
        partition.changed()

    def _write_coordinators_marker(self, where: TopicPartition, marker: Marker) -> None:
        """Write a marker of the coordinator; a partition that is gone needs none (COR-11)."""
        try:
            self.write_marker(where, *marker)
        except KafkaError as why:
            if why.code is not Code.UNKNOWN_TOPIC_OR_PARTITION:
                raise
