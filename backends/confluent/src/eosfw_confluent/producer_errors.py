"""Errors of a producer: what librdkafka raised, in our classes."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException, Producer

from eosfw.error_table import ErrorTable
from eosfw.errors import ClusterUnavailableError, EosfwError, FatalError, IndefiniteOutcomeError
from eosfw.state.producer_state import ProducerCall
from eosfw_confluent import codes
from eosfw_confluent.errors import eosfw_error, ignored_errors, kafka_error_of, without_frames
from eosfw_confluent.events import ClientEvents, broker_answered


class ProducerErrors:
    """Finds the reason of what a call of one producer raised, and names producer, cluster and call."""

    def __init__(self, transactional_id: str | None, servers: str, events: ClientEvents) -> None:
        self._transactional_id, self._servers, self._events = transactional_id, servers, events

    @property
    def name(self) -> str:
        """The producer, in the words of its errors."""
        return "producer" if self._transactional_id is None else f"producer {self._transactional_id!r}"

    def describe(self, call: ProducerCall) -> str:
        """A call, in the words of its errors."""
        return f"{call.value} of {self.name} at {self._servers}"

    def of(self, client: Producer | None, why: BaseException, table: ErrorTable, call: ProducerCall) -> EosfwError:
        """The error of a call that raised, or the earlier one that it only refers to."""
        error = kafka_error_of(without_frames(why))
        if error is not None and error.fatal() and client is not None:
            # Its event is met here, where the error that is handled has no frames: confluent-kafka keeps that one, too.
            with ignored_errors():
                client.poll(0)
        if error is None or error.code() in (codes.FATAL, codes.STATE, codes.INCONSISTENT):
            # These codes only refer to an earlier error, which has the reason.
            error = self.background(client) or error
        if error is not None and error.code() == codes.INCONSISTENT and self._events.undelivered is not None:
            error = self._events.undelivered
        return (
            FatalError(f"{self.describe(call)}: {why}")
            if error is None
            else eosfw_error(error, table, self.describe(call))
        )

    def background(self, client: Producer | None) -> KafkaError | None:
        """The error that put the transaction, or the producer, into its error state.

        librdkafka gives it only as the refusal of a call, and begin_transaction is refused in every such state.
        """
        if client is None or self._transactional_id is None:
            return None
        try:
            client.begin_transaction()
        except KafkaException as why:
            error = kafka_error_of(without_frames(why))
            return error if error is not None and (error.fatal() or error.txn_requires_abort()) else None
        return None

    def timeout(self, client: Producer | None, call: ProducerCall, timeout: float) -> EosfwError:
        """The error of a call that took longer than `timeout` seconds."""
        what = f"{self.describe(call)}: not done within {timeout:g} s{self._events.hint}"
        harmless = call is ProducerCall.INIT or (call is ProducerCall.FLUSH and self._transactional_id is None)
        if harmless and client is not None and not broker_answered(client):
            return ClusterUnavailableError(f"{what}; no broker answered: is the cluster running?")
        return IndefiniteOutcomeError(f"{what}; it may have happened or not: discard this producer")
