"""Produce in transactions through librdkafka."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from eosfw.concurrency import Runtime
from eosfw.error_table import ErrorTable
from eosfw.errors import (
    AbortableError,
    EosfwError,
    FatalError,
    IllegalStateError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import BatchDeliveryCallback, ConsumerGroupMetadata, TransactionalProducer
from eosfw.records import ProducerBatch
from eosfw.security import FirstAuthentication, explained, group_of_offsets, needs
from eosfw.state.producer_state import ProducerCall, ProducerStateMachine, TransactionManagerState
from eosfw_confluent import codes
from eosfw_confluent.conversion import (
    ANY_PARTITION,
    KafkaDeliveryCallback,
    batch_messages,
    kafka_offsets,
    produce_arguments,
    record_metadata,
    serialize_group_metadata,
)
from eosfw_confluent.deadline_call import DeadlineCall
from eosfw_confluent.errors import (
    ABORT,
    BEGIN,
    COMMIT,
    DELIVERY,
    FLUSH,
    INIT,
    SEND,
    SEND_OFFSETS,
    eosfw_error,
    ignored_errors,
    kafka_error_of,
    translated_errors,
    without_frames,
)
from eosfw_confluent.events import ClientEvents
from eosfw_confluent.first_contact import FirstContact, await_known_broker
from eosfw_confluent.producer_errors import ProducerErrors

_LOG = logging.getLogger(__name__)
_LONGEST_WAIT = 0.5
"""Seconds that one call into librdkafka may block: close() on another thread is noticed between two calls."""
_POLL_EVERY = 512
"""Records after which librdkafka's callbacks are served, so that its queue of reports stays short."""
_FIRST_CONTACT = 1.0
"""Seconds, at most, that a producer without transactions waits for a known broker before its first record.

Later it is no gain: librdkafka itself has looked for the brokers again by then.
"""
_SHORTEST_WAIT = 0.001
_BACKGROUND_ANSWER_TIME = 0.05
"""Seconds within which librdkafka's own thread has answered an earlier call."""
_SEND_TIME_BEFORE_CLOSE = 0.5
"""Seconds, at most, in which the records of an open transaction are sent before the producer is destroyed.

librdkafka 2.16 ends the process (assertion `txn_req_cnt > 0`) when a producer is destroyed while it adds a partition.
"""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The transactional id, the cluster, the seconds that `send_batch` may wait for room, the first authentication."""

    transactional_id: str | None
    servers: str
    max_block: float
    authentication: FirstAuthentication


class ConfluentProducer(TransactionalProducer):
    """A `TransactionalProducer` over one librdkafka handle; Kafka's `KafkaProducer`."""

    def __init__(self, config: dict[str, object], settings: ProducerSettings, runtime: Runtime) -> None:
        self.transactional_id = settings.transactional_id
        self._settings = settings
        self._runtime = runtime
        self._events = ClientEvents()
        self._errors = ProducerErrors(settings.transactional_id, settings.servers, self._events)
        reports = {} if settings.transactional_id is not None else {"on_delivery": self._events.on_delivery}
        self._client: Producer | None = Producer({**config, **self._events.client_config(), **reports})
        self._progress = ProducerStateMachine(transactional=settings.transactional_id is not None, lock=runtime.lock())
        self._accepted = 0
        self._reporting_partitions: set[tuple[str, int | None]] = set()
        self._topics: set[str] = set()

    @property
    def authentication(self) -> FirstAuthentication:
        return self._settings.authentication

    @needs("transactional-id", "Write", "Describe", names="transactional_id")
    def init_transactions(self, timeout: float) -> None:
        client = self._open()
        with self._progress.during(ProducerCall.INIT):
            self._settings.authentication.require()
            self._call_with_deadline(FirstContact(client, self._runtime), timeout, INIT, ProducerCall.INIT)

    def begin_transaction(self) -> None:
        client = self._open()
        with (
            self._progress.during(ProducerCall.BEGIN),
            translated_errors(BEGIN, self._errors.describe(ProducerCall.BEGIN)),
        ):
            client.begin_transaction()
            self._events.clear_undelivered()
            self._accepted = 0
            self._reporting_partitions.clear()
            self._topics.clear()

    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        client = self._open()
        if self._progress.state is not TransactionManagerState.IN_TRANSACTION:
            self._progress.check(ProducerCall.SEND)
        count = len(batch.values)
        if not self._topics and self.transactional_id is None:
            await_known_broker(client, self._runtime, min(_FIRST_CONTACT, self._settings.max_block))
        self._topics.add(batch.topic)
        # librdkafka's batch call takes neither timestamps nor headers, and gains nothing with one record.
        if count > 1 and batch.timestamps is None and batch.headers is None:
            self._produce_batch(client, batch, on_delivery)
        elif count:
            self._produce_each(client, batch, on_delivery)

    def _produce_each(self, client: Producer, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None) -> None:
        callback = self._callback_of_new_partition(batch) if on_delivery is None else None
        for at in range(len(batch.values)):
            if on_delivery is not None:
                callback = partial(self._on_delivery, on_delivery, at)
            arguments = produce_arguments(batch, at, callback)
            self._accepted += 1
            try:
                client.produce(*arguments)
            except (BufferError, KafkaException, SystemError) as why:
                without_frames(why)
                # Nothing was accepted: the next attempt waits for room, and translates what is raised.
                self._produce_with_room(client, batch.topic, partial(client.produce, *arguments))
            if not self._accepted % _POLL_EVERY:
                self._poll(client, 0)
            callback = None

    def _produce_batch(self, client: Producer, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None) -> None:
        left = batch_messages(batch)
        if on_delivery is None:
            # A record that a broker refuses fails its transaction by itself, and a partition that does not exist fails
            # every record for it: a report of one record is enough, and a report of each would cost speed.
            left[-1]["callback"] = self._events.on_delivery
        else:
            for at, message in enumerate(left):
                message["callback"] = partial(self._on_delivery, on_delivery, at)
        self._accepted += len(left)
        partition = ANY_PARTITION if batch.partition is None else batch.partition
        deadline: float | None = None
        while left:
            produce = partial(client.produce_batch, batch.topic, left, partition=partition)
            accepted = self._produce_with_room(client, batch.topic, produce) or 0
            self._poll(client, 0)
            if accepted < len(left):
                self._raise_if_rejected(batch.topic, left)
                deadline = self._wait_for_room(client, None if accepted else deadline)
            # Once full, the queue refuses all that follows: what was accepted is the head.
            left = left[accepted:]

    @needs("group", "Read", names=group_of_offsets)
    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timeout: float) -> None:
        client = self._open()
        with self._progress.during(ProducerCall.SEND_OFFSETS):
            if offsets:
                send = partial(
                    client.send_offsets_to_transaction, kafka_offsets(offsets), serialize_group_metadata(group)
                )
                self._call_on_own_thread(
                    client,
                    partial(self._call_with_deadline, send, timeout, SEND_OFFSETS, ProducerCall.SEND_OFFSETS),
                    timeout,
                )

    @needs("topic", "Write", names="refused_topics")
    def flush(self, timeout: float) -> None:
        client = self._open()
        with self._progress.during(ProducerCall.FLUSH):
            self._settings.authentication.require()
            deadline = self._runtime.now() + timeout
            while self._serve(client.flush, self._next_wait(deadline), ProducerCall.FLUSH):
                self._refuse_if_closed(ProducerCall.FLUSH)
                if self._runtime.now() >= deadline:
                    raise self._errors.timeout(client, ProducerCall.FLUSH, timeout)
            self._raise_background_error(client)

    @needs("topic", "Write", names="refused_topics")
    def commit_transaction(self, timeout: float) -> None:
        client = self._open()
        with self._progress.during(ProducerCall.COMMIT):
            self._call_with_deadline(client.commit_transaction, timeout, COMMIT, ProducerCall.COMMIT)

    def abort_transaction(self, timeout: float) -> None:
        client = self._open()
        with self._progress.during(ProducerCall.ABORT):
            deadline = self._runtime.now() + timeout
            self._await_first_delivery(client, deadline)
            self._call_with_deadline(
                client.abort_transaction, deadline - self._runtime.now(), ABORT, ProducerCall.ABORT
            )
            self._events.clear_undelivered()

    def close(self, timeout: float = 0.0) -> None:
        if self._accepted and self.transactional_id is not None:
            timeout = max(timeout, _SEND_TIME_BEFORE_CLOSE)
        self._progress.close()
        client, self._client = self._client, None
        if client is not None and timeout > 0:
            with ignored_errors():
                client.flush(timeout)
        # Dropping the last reference destroys the handle. Its own close() would abort on the cluster, without deadline.

    @property
    def refused_topics(self) -> tuple[str, ...]:
        """The topic of a record that was refused, if a report named one, else those that records were sent to."""
        reported = self._events.undelivered_topic
        return (reported,) if reported is not None else tuple(sorted(self._topics))

    # --- waiting

    def _call_with_deadline(
        self, call: Callable[[float], object], timeout: float, table: ErrorTable, what: ProducerCall
    ) -> None:
        """Repeat a call that librdkafka resumes, in short waits, until it is done or the deadline is over."""
        deadline = self._runtime.now() + timeout
        resumed = False
        while True:
            try:
                call(self._next_wait(deadline))
            except (KafkaException, SystemError) as why:
                error = kafka_error_of(without_frames(why))
                # A call whose time is over raises a retriable error; the same call, made again, resumes it.
                may_resume = error is not None and error.retriable() and error.code() != codes.CONFLICT
                named = error is not None and table.named(error.code()) is not None
                if not may_resume or (named and self._runtime.now() >= deadline):
                    if resumed:
                        self._runtime.sleep(_BACKGROUND_ANSWER_TIME)
                    raise self._errors.of(self._client, why, table, what) from why
            else:
                if resumed and what in (ProducerCall.COMMIT, ProducerCall.ABORT):
                    self._end_again(call)
                return
            resumed = True
            self._refuse_if_closed(what)
            if self._runtime.now() >= deadline:
                raise self._errors.timeout(self._client, what, timeout)
            self._runtime.sleep(_SHORTEST_WAIT)

    def _end_again(self, end: Callable[[float], object]) -> None:
        # When a commit or abort is resumed just as the broker's answer arrives, librdkafka stores that answer twice. It
        # would take the second one for the answer to its next step, and report the next call as done before it began.
        # While no call is under way it discards such an answer. The call is then repeated: librdkafka acknowledges an
        # end that it has not acknowledged yet, and refuses to repeat any other, which changes nothing.
        self._runtime.sleep(_BACKGROUND_ANSWER_TIME)
        with ignored_errors():
            end(_LONGEST_WAIT)

    def _call_on_own_thread(self, client: Producer, call: Callable[[], object], timeout: float) -> None:
        # librdkafka ignores the timeout of this call: it waits for the answers as long as its request timeout says.
        deadline = self._runtime.now() + timeout + _SHORTEST_WAIT

        def left() -> float | None:
            self._refuse_if_closed(ProducerCall.SEND_OFFSETS)
            return None if self._runtime.now() >= deadline else self._next_wait(deadline)

        if not DeadlineCall(self._runtime, f"eosfw-offsets-{self.transactional_id}").run(call, left):
            raise self._errors.timeout(client, ProducerCall.SEND_OFFSETS, timeout)

    def _next_wait(self, deadline: float) -> float:
        return min(_LONGEST_WAIT, max(_SHORTEST_WAIT, deadline - self._runtime.now()))

    def _await_first_delivery(self, client: Producer, deadline: float) -> None:
        # librdkafka#4849: an abort that overtakes the first AddPartitionsToTxn ends in a fatal INVALID_TXN_STATE.
        while self._accepted and len(client) >= self._accepted and self._runtime.now() < deadline:
            self._refuse_if_closed(ProducerCall.ABORT)
            with ignored_errors():
                client.flush(min(0.02, self._next_wait(deadline)))

    def _poll(self, client: Producer, wait: float) -> None:
        try:
            self._serve(client.poll, wait, ProducerCall.SEND)
        except EosfwError as failure:
            self._progress.fail(failure)
            raise

    def _serve(self, call: Callable[[float], int], wait: float, what: ProducerCall) -> int:
        """Let librdkafka run its callbacks. It raises fatal errors, as a SystemError if a callback was due."""
        try:
            return call(wait)
        except (KafkaException, SystemError) as why:
            raise self._errors.of(self._client, why, FLUSH, what) from why

    def _produce_with_room(self, client: Producer, topic: str, call: Callable[[], int | None]) -> int | None:
        deadline: float | None = None
        while True:
            try:
                return call()
            except BufferError:
                deadline = self._wait_for_room(client, deadline)
            except (KafkaException, SystemError) as why:
                raise self._failed_send(topic, why) from why

    def _wait_for_room(self, client: Producer, deadline: float | None) -> float:
        self._progress.check(ProducerCall.SEND)
        deadline = self._runtime.now() + self._settings.max_block if deadline is None else deadline
        if self._runtime.now() >= deadline:
            late = AbortableError(
                f"{self._errors.describe(ProducerCall.SEND)}: no room in the buffer for {self._settings.max_block:g} s"
            )
            self._progress.fail(late)
            raise late
        self._poll(client, 0.05)
        return deadline

    def _raise_if_rejected(self, topic: str, left: list[dict[str, object]]) -> None:
        for message in left:
            error = message.pop("_error", None)
            if isinstance(error, KafkaError) and error.code() != codes.QUEUE_FULL:
                raise self._failed_send(topic, KafkaException(error))

    def _failed_send(self, topic: str, why: Exception) -> EosfwError:
        """The error of a record that was not accepted; the transaction has failed with it."""
        # librdkafka refuses a denied topic at once where it has heard so of an earlier record.
        error = self._errors.of(self._client, why, SEND, ProducerCall.SEND)
        failure = explained(error, self.authentication, ("Write",), "topic", (topic,))
        self._progress.fail(failure)
        return failure

    # --- errors

    def _open(self) -> Producer:
        if self._client is None:
            raise IllegalStateError(f"{self._errors.name} is closed")
        return self._client

    def _refuse_if_closed(self, call: ProducerCall) -> None:
        if self._progress.state is TransactionManagerState.CLOSED:
            raise FatalError(f"{self._errors.describe(call)}: closed while it waited")

    def _raise_background_error(self, client: Producer) -> None:
        error = self._events.undelivered
        if self._progress.state is TransactionManagerState.IN_TRANSACTION:
            found = self._errors.background(client)
            error = found if found is not None and (found.fatal() or error is None) else error
        if error is not None:
            if self.transactional_id is None:
                self._events.clear_undelivered()
            raise eosfw_error(error, FLUSH, self._errors.describe(ProducerCall.FLUSH))

    def _callback_of_new_partition(self, batch: ProducerBatch) -> KafkaDeliveryCallback | None:
        """A callback for the first record of each partition: the report of one tells when the partition is missing."""
        place = (batch.topic, batch.partition)
        if place in self._reporting_partitions:
            return None
        self._reporting_partitions.add(place)
        return self._events.on_delivery

    def _on_delivery(
        self, on_delivery: BatchDeliveryCallback, at: int, error: KafkaError | None, message: Message
    ) -> None:
        self._events.on_delivery(error, message)
        failed = None if error is None else eosfw_error(error, DELIVERY, self._errors.describe(ProducerCall.SEND))
        try:
            on_delivery(at, None if failed else record_metadata(message), failed)
        except Exception:  # noqa: BLE001 - a caller's code must not break the library's poll
            _LOG.exception("%s: a delivery callback failed", self._errors.name)
