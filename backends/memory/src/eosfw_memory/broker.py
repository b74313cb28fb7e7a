"""Hold the state of a cluster of one broker: topics, the transaction coordinator, the clock.

Concurrency: one re-entrant lock for the whole broker, taken for the moment a handler runs and never across waiting.
Handlers are plain functions of a few microseconds, so finer locks would cost more than they give, and one lock lets
calls from inside the process come in by the same door as the wire (`serve`), from any thread, without passing through
the wire's event loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel, OpenTransaction
from eosfw.waiting import Runtime
from eosfw_memory.coordinators.metadata import NO_PRODUCER_ID, TransactionMetadata
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.coordinators.transactions import TransactionCoordinator
from eosfw_memory.deferred import Answer, Deferred
from eosfw_memory.log.batch import split
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.topics import TRANSACTION_LOG, Topic, Topics
from eosfw_memory.transaction_log import TopicTransactionLog

NODE_ID = 1
COORDINATOR_EPOCH = 0
LEADER_EPOCH = 0


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler knows of a request besides its fields."""

    version: int


Handler: TypeAlias = Callable[["Broker", Any, Context], "Answer | Deferred | None"]
"""Answers one kind of request; None means that the client wants no answer."""


class Broker:
    """A broker without a network."""

    def __init__(self, settings: Settings, endpoint: Endpoint, runtime: Runtime) -> None:
        self.settings = settings
        self.endpoint = endpoint
        self.cluster_id = uuid4().hex[:22]
        self.topics = Topics()
        self._lock = runtime.lock()
        self._runtime = runtime
        self._began = runtime.wall() - runtime.now()
        self.coordinator = TransactionCoordinator(
            TopicTransactionLog(self.transaction_log),
            self._write_marker,
            itertools.count(1000),
            max_timeout_ms=settings.transaction_max_timeout_ms,
        )

    def now_ms(self) -> int:
        """Milliseconds since 1970 by a clock that never goes back, so that no timeout is cut short or drawn out."""
        return int((self._began + self._runtime.now()) * 1000)

    # --- the door, for the wire and for callers inside the process alike

    def serve(self, handler: Handler, request: Any, context: Context) -> Answer | Deferred | None:
        """Run a handler; any thread may call. Call `settle` once the answer is on its way."""
        with self._lock:
            return handler(self, request, context)

    def serve_each(self, handler: Handler, requests: Iterable[Any], context: Context) -> list[Answer]:
        """Run a handler, of a kind that never puts its answer off, for many requests in one go."""
        with self._lock:
            return [handler(self, request, context) for request in requests]  # type: ignore[misc]

    def attempt(self, deferred: Deferred, *, expired: bool) -> Answer | None:
        """Try a deferred answer again."""
        with self._lock:
            return deferred.attempt(expired)

    def await_answer(self, deferred: Deferred, wake: Callable[[], None]) -> None:
        """Have `wake` called whenever a deferred answer is worth another attempt."""
        with self._lock:
            deferred.subscribe(wake)

    def give_up(self, deferred: Deferred) -> None:
        """Stop waiting for a deferred answer."""
        with self._lock:
            deferred.cancel()

    def settle(self) -> None:
        """Write the markers of transactions that were decided (EndTxn is answered before, as Kafka does)."""
        if self.coordinator.unfinished:
            with self._lock:
                self.coordinator.finish(self.now_ms())

    def sweep(self) -> list[str]:
        """Abort transactions that are open beyond their timeout; name them (COR-15)."""
        with self._lock:
            late = self.coordinator.sweep(self.now_ms())
        self.settle()
        return late

    # --- topics

    def topic_for_client(self, name: str, *, may_create: bool) -> Topic | None:
        """Look a topic up, creating it as Kafka does for clients that ask about one."""
        topic = self.topics.by_name(name)
        if topic is None and may_create and self.settings.auto_create_topics and name != TRANSACTION_LOG:
            topic = self.topics.create(name, self.settings.num_partitions, {})
        return topic

    def transaction_log(self) -> Topic:
        """The topic of the transaction log, made when first needed."""
        partitions = self.settings.transaction_log_partitions
        return self.topics.by_name(TRANSACTION_LOG) or self.topics.create(
            TRANSACTION_LOG, partitions, {"cleanup.policy": "compact", "compression.type": "uncompressed"}
        )

    # --- looking in

    def open_transactions(self) -> list[OpenTransaction]:
        """Every transaction that holds back a last stable offset, once for each partition it has written to."""
        with self._lock:
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
        with self._lock:
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

    def _write_marker(self, where: TopicPartition, producer: ProducerIdAndEpoch, outcome: Outcome) -> None:
        partition = self.topics.partition(where.topic, where.partition)
        if partition is not None:
            partition.log.append_marker(producer, outcome, COORDINATOR_EPOCH, self.now_ms())
            partition.changed()
