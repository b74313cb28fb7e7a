"""List, describe and abort transactions (KIP-664)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.admin import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest
from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer import WriteTxnMarkersRequest

from eosfw.error_table import RETRIABLE, ErrorTable
from eosfw.errors import EosfwError, TransactionNotFoundError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.kafka_codes import Code
from eosfw.retry_timer import RetryTimer
from eosfw.transactions import (
    ProducerState,
    TransactionDescription,
    TransactionFilters,
    TransactionListing,
    TransactionState,
)
from eosfw_kafka_python.broker_lookup import BrokerLookup, by_topic
from eosfw_kafka_python.errors import ABORT_MARKER, TRANSACTIONS, eosfw_error

_NOTHING = -1
_PAUSE = 0.02


class TransactionQueries:
    """An admin client's requests about transactions, to coordinators and leaders, until a deadline.

    The library's own search for hanging transactions asks only coordinators, which do not know those that hang.
    """

    def __init__(self, brokers: BrokerLookup, deadline: float) -> None:
        self._brokers = brokers
        self._deadline = deadline
        self._timer = RetryTimer(brokers.runtime, deadline, pause=_PAUSE, longest=_PAUSE)

    def list_transactions(self, filters: TransactionFilters) -> Iterator[TransactionListing]:
        """The transactional ids of every coordinator; each coordinator knows only its own."""

        def request() -> ListTransactionsRequest:
            options: dict[str, Any] = {
                "state_filters": [state.value for state in filters.states],
                "producer_id_filters": list(filters.producer_ids),
            }
            if filters.older_than is None:
                return ListTransactionsRequest(**options, max_version=0)
            # Version 0 has no such filter: an older broker would answer with everything.
            age = int(filters.older_than * 1000)
            return ListTransactionsRequest(**options, duration_filter=age, min_version=1, max_version=1)

        connection = self._brokers.connection
        for broker in self._brokers.metadata([], self._deadline).brokers:
            while (answer := connection.send_request(request, self._deadline, broker.node_id)).error_code:
                if answer.error_code not in RETRIABLE or not self._timer.backoff():
                    raise self._failure(answer.error_code, TRANSACTIONS, "list transactions")
            for each in answer.transaction_states:
                state = TransactionState(each.transaction_state)
                if state.is_open or filters.older_than is None:  # Kafka takes idle ids for old
                    yield TransactionListing(each.transactional_id, each.producer_id, state)

    def describe_transactions(
        self, transactional_ids: Collection[str]
    ) -> Mapping[str, TransactionDescription | EosfwError]:
        """The description of each id by its coordinator, or the error."""
        return {name: self._describe_transaction(name) for name in dict.fromkeys(transactional_ids)}

    def describe_producers(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[ProducerState]]:
        """The producers that each partition's leader remembers."""
        found: dict[TopicPartition, Sequence[ProducerState]] = {}
        while left := [one for one in partitions if one not in found]:
            grouped, lacking = self._brokers.by_leader(left, self._deadline)
            refused = dict(lacking)
            for node, ones in grouped.items():
                answer = self._brokers.connection.send_request(partial(_describe, ones), self._deadline, node)
                _collect_producers(answer, found, refused)
            for one, code in refused.items():
                if code not in RETRIABLE or code == Code.UNKNOWN_TOPIC_OR_PARTITION or not self._timer.backoff():
                    raise self._failure(code, TRANSACTIONS, f"describe the producers of {one}")
        return found

    def abort_transaction(self, where: TopicPartition, start_offset: int) -> ProducerState:
        """Write an abort marker to this partition for the transaction that is open since an offset."""
        (states,) = self.describe_producers([where]).values()
        found = next((each for each in states if each.open_since == start_offset), None)
        if found is None:
            open_now = ", ".join(str(each.open_since) for each in states if each.open_since is not None) or "none"
            raise TransactionNotFoundError(
                f"{where}: no transaction is open since offset {start_offset}; open since: {open_now}"
            )
        what = f"abort the transaction open in {where} since {start_offset}"
        while True:
            grouped, lacking = self._brokers.by_leader([where], self._deadline)
            code = lacking.get(where)
            for node in grouped:
                # A second marker does no harm: it finds no open transaction.
                answer = self._brokers.connection.send_request(lambda: _marker(where, found), self._deadline, node)
                code = answer.markers[0].topics[0].partitions[0].error_code
            if not code:
                return found
            if code not in RETRIABLE or not self._timer.backoff():
                raise self._failure(code, ABORT_MARKER, what)

    # --- one request each

    def _describe_transaction(self, name: str) -> TransactionDescription | EosfwError:
        if not name:
            return self._failure(Code.TRANSACTIONAL_ID_NOT_FOUND, TRANSACTIONS, f"describe {name!r}")
        try:
            answer, coordinator = self._brokers.send_to_coordinator(
                lambda: DescribeTransactionsRequest(transactional_ids=[name]),
                (name, CoordinatorType.TRANSACTION),
                self._deadline,
                (
                    TRANSACTIONS,
                    lambda options: options.transaction_states[0].error_code,
                    self._what(f"describe {name!r}"),
                ),
            )
        except EosfwError as why:
            return why
        return _description(answer.transaction_states[0], coordinator)

    def _failure(self, code: int, table: ErrorTable, what: str) -> EosfwError:
        return eosfw_error(kafka_errors.for_code(code)(), table, self._what(what))

    def _what(self, what: str) -> str:
        return f"{what} at {self._brokers.connection.servers}"


def _describe(ones: Collection[TopicPartition]) -> DescribeProducersRequest:
    kind = DescribeProducersRequest.TopicRequest
    return DescribeProducersRequest(
        topics=[kind(name=name, partition_indexes=each) for name, each in by_topic(ones).items()]
    )


def _collect_producers(
    answer: Any, found: dict[TopicPartition, Sequence[ProducerState]], refused: dict[TopicPartition, int]
) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            where = TopicPartition(topic.name, each.partition_index)
            if each.error_code == Code.NONE:
                found[where] = [_producer(one) for one in each.active_producers]
            else:
                refused[where] = each.error_code


def _marker(where: TopicPartition, found: ProducerState) -> WriteTxnMarkersRequest:
    kind = WriteTxnMarkersRequest.WritableTxnMarker
    marker = kind(
        producer_id=found.producer.producer_id,
        producer_epoch=found.producer.epoch,
        transaction_result=False,
        topics=[kind.WritableTxnMarkerTopic(name=where.topic, partition_indexes=[where.partition])],
        coordinator_epoch=_NOTHING if found.coordinator_epoch is None else found.coordinator_epoch,
    )
    return WriteTxnMarkersRequest(markers=[marker], max_version=1)


def _description(each: Any, coordinator: int) -> TransactionDescription:
    state = TransactionState(each.transaction_state)
    return TransactionDescription(
        transactional_id=each.transactional_id,
        coordinator=coordinator,
        state=state,
        producer=ProducerIdAndEpoch(each.producer_id, each.producer_epoch),
        timeout=each.transaction_timeout_ms / 1000,
        started=_known(each.transaction_start_time_ms) if state.is_open else None,
        partitions=frozenset(
            TopicPartition(topic.topic, number) for topic in each.topics for number in topic.partitions
        ),
    )


def _producer(each: Any) -> ProducerState:
    return ProducerState(
        producer=ProducerIdAndEpoch(each.producer_id, each.producer_epoch),
        last_sequence=each.last_sequence,
        last_timestamp=each.last_timestamp,
        coordinator_epoch=_known(each.coordinator_epoch),
        open_since=_known(each.current_txn_start_offset),
    )


def _known(value: int) -> int | None:
    return None if value < 0 else value
