"""Produce in transactions through kafka-python."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka import KafkaProducer
from kafka import errors as kafka_errors

from eosfw.error_table import ErrorTable
from eosfw.errors import (
    AbortableError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    RetriableError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import BatchDeliveryCallback, ConsumerGroupMetadata, DeliveryCallback, TransactionalProducer
from eosfw.records import ProducerBatch, RecordMetadata
from eosfw.security import FirstAuthentication, explained, group_of_offsets, needs
from eosfw.state.producer_state import ProducerCall, ProducerStateMachine, TransactionManagerState
from eosfw_kafka_python import private_api
from eosfw_kafka_python.connection import Connection
from eosfw_kafka_python.errors import ABORT, BEGIN, COMMIT, DELIVERY, FLUSH, INIT, SEND, SEND_OFFSETS, eosfw_error
from eosfw_kafka_python.in_flight_records import InFlightRecords
from eosfw_kafka_python.partitioner import Partitioner

_LOG = logging.getLogger(__name__)
_LONGEST_WAIT = 0.2
"""Seconds that one call into the library may block: close() on another thread is noticed between two calls."""
_SHORTEST_WAIT = 0.001
_TOPIC_WAIT = 5.0
"""Seconds within which the metadata must show a topic, or its records fail; create_topics has waited for leaders."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The transactional id, the seconds that `send_batch` may wait for room, the largest record, the bytes of room."""

    transactional_id: str | None
    max_block: float
    max_request_size: int
    buffer_memory: int


class KafkaPythonProducer(TransactionalProducer):
    """A `TransactionalProducer` over the library's `KafkaProducer`, made by the first call that needs the cluster."""

    def __init__(self, config: Mapping[str, Any], settings: ProducerSettings, connection: Connection) -> None:
        self.transactional_id = settings.transactional_id
        self._config = config
        self._settings = settings
        self._connection = connection
        self._runtime = connection.runtime
        self._client: KafkaProducer | None = None
        self._lock = self._runtime.lock()
        """For `_client` alone: held for no call of the library, or `close` could not end one that waits."""
        self._connecting = self._runtime.lock()
        self._partitioner: Partitioner | None = None
        self._in_flight = InFlightRecords(self._runtime.lock())
        self._progress = ProducerStateMachine(
            transactional=settings.transactional_id is not None, lock=self._runtime.lock()
        )
        self._unflushed_bytes = 0
        self._topics: set[str] = set()

    @property
    def authentication(self) -> FirstAuthentication:
        return self._connection.authentication

    @needs("transactional-id", "Write", "Describe", names="transactional_id")
    def init_transactions(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.INIT):
            deadline = self._runtime.now() + timeout
            client = self._client or self._connect_client(ProducerCall.INIT, deadline)
            self._partitioner = self._new_partitioner(client)
            self._wait_for_result(lambda: private_api.initialise(client), deadline, timeout, (ProducerCall.INIT, INIT))

    def begin_transaction(self) -> None:
        with self._progress.during(ProducerCall.BEGIN):
            self._call_library(lambda: private_api.begin(self._open_client()), (ProducerCall.BEGIN, BEGIN))
            self._in_flight.clear()
            self._unflushed_bytes = 0
            self._topics.clear()

    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        self._progress.check(ProducerCall.SEND)
        if not len(batch):
            return
        self._topics.add(batch.topic)
        try:
            self._make_room(_bytes_of(batch))
            self._append(batch, on_delivery, self._partitioner or self._connect())
        except EosfwError as why:
            # What fails here fails the transaction, unless nothing was accepted.
            if not isinstance(why, (RetriableError, IllegalStateError)):
                self._progress.fail(why)
            raise explained(why, self.authentication, ("Write",), "topic", (batch.topic,)) from why.__cause__

    @needs("group", "Read", names=group_of_offsets)
    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timeout: float) -> None:
        with self._progress.during(ProducerCall.SEND_OFFSETS):
            if offsets:
                deadline, client = self._runtime.now() + timeout, self._open_client()
                begin = lambda: private_api.send_offsets(client, offsets, group)  # noqa: E731 - a lambda as in the other calls
                self._wait_for_result(begin, deadline, timeout, (ProducerCall.SEND_OFFSETS, SEND_OFFSETS))

    @needs("topic", "Write", names="written_topics")
    def flush(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.FLUSH):
            if self._client is not None:
                self._flush(self._client, timeout, ProducerCall.FLUSH)

    @needs("topic", "Write", names="written_topics")
    def commit_transaction(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.COMMIT):
            deadline, client = self._runtime.now() + timeout, self._open_client()
            # Flush first: the library commits although a batch has timed out.
            self._flush(client, timeout, ProducerCall.COMMIT)
            self._wait_for_result(
                lambda: private_api.end(client, commit=True), deadline, timeout, (ProducerCall.COMMIT, COMMIT)
            )

    def abort_transaction(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.ABORT):
            deadline, client = self._runtime.now() + timeout, self._open_client()
            # Looked at before the abort, with which the library forgets it.
            failed = private_api.transaction_error(client)[0] is not None
            self._wait_for_result(
                lambda: private_api.end(client, commit=False), deadline, timeout, (ProducerCall.ABORT, ABORT)
            )
            # Looked at after the abort, which waits for what is on its way, and that may be refused.
            if failed or self._in_flight.lost:
                self._renew_epoch(client, deadline, timeout)
            self._in_flight.clear()

    def close(self, timeout: float = 0.0) -> None:
        usable = self._progress.state not in (TransactionManagerState.FATAL_ERROR, TransactionManagerState.CLOSED)
        if timeout > 0 and usable and self._client is not None:
            with suppress(EosfwError):
                self._flush(self._client, timeout, ProducerCall.FLUSH)
        self._progress.close()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            private_api.force_close(client)
        self._connection.close()

    @property
    def written_topics(self) -> tuple[str, ...]:
        """The topics that records were sent to in this transaction."""
        return tuple(sorted(self._topics))

    # --- the library's producer

    def _connect_client(self, call: ProducerCall, deadline: float) -> KafkaProducer:
        """Make the library's producer; its constructor connects to the cluster."""
        what = self._describe_call(call)
        try:
            client = private_api.producer(self._config, partial(self._connection.client, deadline))
        except (RetriableError, FatalError) as why:
            raise type(why)(f"{what}: {why}") from why
        except kafka_errors.KafkaError as why:
            raise eosfw_error(why, INIT, what) from why
        # The library's own thread holds its producer, which would outlive this object without an end of its own.
        weakref.finalize(self, private_api.force_close, client)
        # Under the lock that close() takes: either it finds this client, or the state below tells that it ran before.
        with self._lock:
            self._client = client
        if self._progress.state is TransactionManagerState.CLOSED:
            # close() ran while the constructor connected, and found no client to close.
            private_api.force_close(client)
            raise FatalError(f"{what}: closed while it waited")
        return client

    def _connect(self) -> Partitioner:
        """Meet the cluster, as Kafka's producer does while it sends; only one without transactional id has not yet."""
        with self._connecting:  # so that threads that send their first records at once make one client
            if self._partitioner is None:
                deadline = self._runtime.now() + self._settings.max_block
                client = self._client or self._connect_client(ProducerCall.SEND, deadline)
                self._partitioner = self._new_partitioner(client)
            return self._partitioner

    def _new_partitioner(self, client: KafkaProducer) -> Partitioner:
        return Partitioner(client, min(_TOPIC_WAIT, self._settings.max_block), self._settings.max_request_size)

    def _open_client(self) -> KafkaProducer:
        if self._client is None:
            raise IllegalStateError(f"{self._name} is closed")
        return self._client

    # --- sending

    def _append(
        self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None, partitioner: Partitioner
    ) -> None:
        futures = self._call_library(lambda: partitioner.append(batch), (ProducerCall.SEND, SEND))
        self._in_flight.add(futures)
        if on_delivery is not None:
            for at, future in enumerate(futures):
                self._report(future, partial(on_delivery, at))

    def _make_room(self, size: int) -> None:
        # The library does not bound its buffer, so that `buffer.memory` is kept here.
        self._unflushed_bytes += size
        if self._unflushed_bytes > self._settings.buffer_memory:
            if self._client is not None:
                self._flush(self._client, self._settings.max_block, ProducerCall.SEND)
            self._unflushed_bytes = size

    def _report(self, future: Any, on_delivery: DeliveryCallback) -> None:
        def delivered(found: Any) -> None:
            self._run_callback(on_delivery, RecordMetadata(found.topic, found.partition, found.offset), None)

        def failed(why: Exception) -> None:
            self._run_callback(on_delivery, None, eosfw_error(why, DELIVERY, self._describe_call(ProducerCall.SEND)))

        future.add_callback(delivered)
        future.add_errback(failed)

    def _run_callback(
        self, on_delivery: DeliveryCallback, metadata: RecordMetadata | None, failed: EosfwError | None
    ) -> None:
        try:
            on_delivery(metadata, failed)
        except Exception:  # noqa: BLE001 - a caller's code must not break the library's thread
            _LOG.exception("%s: a delivery callback failed", self._name)

    # --- waiting

    def _next_wait(self, deadline: float) -> float:
        """Seconds that the next call into the library may wait."""
        return min(_LONGEST_WAIT, max(_SHORTEST_WAIT, deadline - self._runtime.now()))

    def _flush(self, client: KafkaProducer, timeout: float, call: ProducerCall) -> None:
        """Wait until every record is written; raise the first failure."""
        deadline = self._runtime.now() + timeout
        while True:
            try:
                client.flush(self._next_wait(deadline))
            except (kafka_errors.KafkaTimeoutError, kafka_errors.UnknownError):
                # The library raises the second one when a batch was split while it waited.
                self._refuse_if_closed(call)
                if self._runtime.now() >= deadline:
                    raise self._timeout_error(call, timeout) from None
            else:
                break
        self._raise_background_error(client, call)

    def _raise_background_error(self, client: KafkaProducer, call: ProducerCall) -> None:
        failed, fatal = private_api.transaction_error(client)
        failed = failed or self._in_flight.failed
        if failed is None:
            return
        if self.transactional_id is None:
            self._in_flight.clear()
        raise eosfw_error(failed, FLUSH, self._describe_call(call), fatal=fatal)

    def _wait_for_result(
        self, begin: Callable[[], Any], deadline: float, timeout: float, call_and_table: tuple[ProducerCall, ErrorTable]
    ) -> None:
        """Start a request to the coordinator and wait for its result; the library itself would wait without limit."""
        result = self._call_library(begin, call_and_table)

        def wait() -> bool:
            return bool(result.wait(self._next_wait(deadline) * 1000))

        while not self._call_library(wait, call_and_table):
            self._refuse_if_closed(call_and_table[0])
            if self._runtime.now() >= deadline:
                raise self._timeout_error(call_and_table[0], timeout)

    def _renew_epoch(self, client: KafkaProducer, deadline: float, timeout: float) -> None:
        """Get a new epoch: a refused batch leaves a gap in the sequence numbers. Kafka's producer does so, too."""
        self._call_library(lambda: private_api.renew_epoch(client), (ProducerCall.ABORT, INIT))
        while private_api.is_renewing_epoch(client):
            self._refuse_if_closed(ProducerCall.ABORT)
            if self._runtime.now() >= deadline:
                raise self._timeout_error(ProducerCall.ABORT, timeout)
            self._runtime.sleep(_SHORTEST_WAIT)
        failed, fatal = private_api.transaction_error(client)
        if failed is not None:
            raise eosfw_error(failed, INIT, self._describe_call(ProducerCall.ABORT), fatal=fatal)

    # --- errors

    def _call_library(self, call: Callable[[], Any], call_and_table: tuple[ProducerCall, ErrorTable]) -> Any:
        """Call the library and translate its errors; where its producer failed before, that first error is raised."""
        what = self._describe_call(call_and_table[0])
        try:
            return call()
        except kafka_errors.KafkaError as why:
            first, fatal = private_api.transaction_error(self._client) if self._client is not None else (None, False)
            if (
                call_and_table[0] is ProducerCall.SEND
                and isinstance(why, kafka_errors.KafkaTimeoutError)
                and first is None
            ):
                raise UnknownTopicOrPartitionError(f"{what}: the topic did not appear: {why}") from why
            raise eosfw_error(first or why, call_and_table[1], what, fatal=fatal) from why
        except UnknownTopicOrPartitionError as why:
            raise UnknownTopicOrPartitionError(f"{what}: {why}") from why
        except (TypeError, ValueError) as why:
            raise AbortableError(f"{what}: {why}") from why

    def _refuse_if_closed(self, call: ProducerCall) -> None:
        if self._progress.state is TransactionManagerState.CLOSED:
            raise FatalError(f"{self._describe_call(call)}: closed while it waited")

    def _timeout_error(self, call: ProducerCall, timeout: float) -> EosfwError:
        what = f"{self._describe_call(call)}: not done within {timeout:g} s"
        return IndefiniteOutcomeError(f"{what}; it may have happened or not: discard this producer")

    @property
    def _name(self) -> str:
        return f"producer {self.transactional_id!r}" if self.transactional_id is not None else "producer"

    def _describe_call(self, call: ProducerCall) -> str:
        return f"{call.value} of {self._name} at {self._connection.servers}"


def _bytes_of(batch: ProducerBatch) -> int:
    return sum(map(len, filter(None, batch.values))) + sum(map(len, filter(None, batch.keys or ())))
