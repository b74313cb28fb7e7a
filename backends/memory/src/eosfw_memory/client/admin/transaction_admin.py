"""List and describe transactions and producers, and abort a hanging transaction (KIP-664)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from eosfw.error_table import ABORT_MARKER, LOST_COORDINATOR, MOVED, RETRIABLE, TRANSACTIONS, ErrorTable
from eosfw.errors import ClusterUnavailableError, EosfwError, TransactionNotFoundError, UnsupportedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.retry_timer import RetryTimer
from eosfw.security import Address
from eosfw.transactions import (
    ProducerState,
    TransactionDescription,
    TransactionFilters,
    TransactionListing,
    TransactionState,
)
from eosfw_memory.client.metadata import ClusterMetadata, brokers_of
from eosfw_memory.client.transport.apis import (
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    LIST_LONG_TRANSACTIONS,
    LIST_TRANSACTIONS,
    WRITE_TXN_MARKERS,
    Fields,
    group_by_topic,
)
from eosfw_memory.client.transport.channel import NotRetriableError, UnsupportedServerError
from eosfw_memory.client.transport.errors import error_for
from eosfw_memory.common.codes import Code

_NOTHING = -1
_ABORT = False


class TransactionAdmin:
    """The requests about transactions that an admin client sends to coordinators and leaders."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    # --- coordinators

    def list_transactions(self, filters: TransactionFilters, timer: RetryTimer) -> Iterator[TransactionListing]:
        """The transactions of all coordinators, each of which lists its own."""
        request = Fields(
            state_filters=tuple(state.value for state in filters.states),
            producer_id_filters=tuple(filters.producer_ids),
            duration_filter=_NOTHING if filters.older_than is None else int(filters.older_than * 1000),
        )
        metadata: Any = self._metadata.fetch_metadata([], timer)
        for address in brokers_of(metadata).values():
            answer = self._listed_by(address, request, timer)
            for each in answer["transaction_states"]:
                state = TransactionState(each["transaction_state"])
                if state.is_open or filters.older_than is None:  # Kafka takes idle ids for old
                    yield TransactionListing(each["transactional_id"], each["producer_id"], state)

    def _listed_by(self, address: Address, request: Fields, timer: RetryTimer) -> Any:
        api = LIST_TRANSACTIONS if request.duration_filter == _NOTHING else LIST_LONG_TRANSACTIONS
        while True:
            try:
                channel = self._metadata.network.at(address)
                answer: Any = self._metadata.retry(lambda: channel.call(api, request, timer.deadline), timer)  # noqa: B023
            except UnsupportedServerError as why:
                raise UnsupportedError(f"list transactions by their age at {address}: {why}") from why
            code = answer["error_code"]
            if code == Code.NONE:
                return answer
            if code not in RETRIABLE or not timer.backoff():
                raise self._error_for(code, TRANSACTIONS, "list transactions")

    def describe_transactions(
        self, transactional_ids: Collection[str], timer: RetryTimer
    ) -> Mapping[str, TransactionDescription | EosfwError]:
        """The description of each id by its coordinator, or why there is none."""
        described: dict[str, TransactionDescription | EosfwError] = {}
        while left := [name for name in dict.fromkeys(transactional_ids) if name not in described]:
            late: dict[str, EosfwError] = {}
            for address, names in self._by_coordinator(left, described, timer).items():
                late |= self._described_by(address, names, described, timer)
            if late and not timer.backoff():
                return described | late
        return described

    def _described_by(
        self,
        address: Address,
        names: Sequence[str],
        described: dict[str, TransactionDescription | EosfwError],
        timer: RetryTimer,
    ) -> Mapping[str, EosfwError]:
        """Add the descriptions by one coordinator to `described`; return the errors of ids to ask about again."""
        channel = self._metadata.network.at(address)
        late: dict[str, EosfwError] = {}
        try:
            answer: Any = channel.call(DESCRIBE_TRANSACTIONS, Fields(transactional_ids=tuple(names)), timer.deadline)
        except ClusterUnavailableError as lost:
            self._forget_coordinators(names)
            lost_for_good = isinstance(lost, NotRetriableError)
            described |= dict.fromkeys(names, lost) if lost_for_good else {}
            return {} if lost_for_good else dict.fromkeys(names, lost)
        for each in answer["transaction_states"]:
            name, code = each["transactional_id"], each["error_code"]
            if code == Code.NONE:
                brokers: Any = self._metadata.fetch_metadata([], timer)
                numbers = {at: number for number, at in brokers_of(brokers).items()}
                described[name] = _description(each, numbers.get(address, _NOTHING))
                continue
            why = self._error_for(code, TRANSACTIONS, f"describe {name!r}")
            (late if code in RETRIABLE else described)[name] = why
            if code in LOST_COORDINATOR:
                self._forget_coordinators([name])
        return late

    def _by_coordinator(
        self, names: Sequence[str], described: dict[str, TransactionDescription | EosfwError], timer: RetryTimer
    ) -> Mapping[Address, list[str]]:
        found: dict[Address, list[str]] = {}
        for name in names:
            try:
                found.setdefault(self._metadata.coordinator_address(name, timer), []).append(name)
            except EosfwError as why:
                described[name] = why
        return found

    def _forget_coordinators(self, names: Iterable[str]) -> None:
        for name in names:
            self._metadata.forget_coordinator(name)

    # --- leaders

    def describe_producers(
        self, partitions: Collection[TopicPartition], timer: RetryTimer
    ) -> Mapping[TopicPartition, Sequence[ProducerState]]:
        """The active producers of each partition."""
        described: dict[TopicPartition, Sequence[ProducerState]] = {}
        while left := [one for one in partitions if one not in described]:
            failed: EosfwError | None = None
            for channel, ones in self._metadata.by_leader(left, timer).items():
                request = Fields(
                    topics=group_by_topic(ones, lambda name, each: Fields(name=name, partition_indexes=each))
                )
                try:
                    answer: Any = channel.call(DESCRIBE_PRODUCERS, request, timer.deadline)
                except NotRetriableError:
                    raise
                except ClusterUnavailableError as why:
                    failed = why
                    self._metadata.forget(*(one.topic for one in ones))
                    continue
                failed = self._take(answer, described) or failed
            if failed is not None and not timer.backoff():
                raise failed
        return described

    def _take(self, answer: Any, described: dict[TopicPartition, Sequence[ProducerState]]) -> EosfwError | None:
        failed: EosfwError | None = None
        for topic in answer["topics"]:
            for each in topic["partitions"]:
                where, code = TopicPartition(topic["name"], each["partition_index"]), each["error_code"]
                if code == Code.NONE:
                    described[where] = [_producer(one) for one in each["active_producers"]]
                    continue
                failed = self._error_for(code, TRANSACTIONS, f"describe the producers of {where}")
                if code not in RETRIABLE:
                    raise failed
                self._metadata.forget(where.topic)
        return failed

    def abort_transaction(self, where: TopicPartition, start_offset: int, timer: RetryTimer) -> ProducerState:
        """Write the marker that aborts, in this partition, the transaction open since an offset."""
        (states,) = self.describe_producers([where], timer).values()
        found = next((each for each in states if each.open_since == start_offset), None)
        if found is None:
            open_now = ", ".join(str(each.open_since) for each in states if each.open_since is not None) or "none"
            raise TransactionNotFoundError(
                f"{where}: no transaction is open since offset {start_offset}; open since: {open_now}"
            )
        while True:
            code = self._write_marker(where, found, timer)
            if code == Code.NONE:
                return found
            if code not in RETRIABLE or not timer.backoff():
                raise self._error_for(code, ABORT_MARKER, f"abort the transaction open in {where} since {start_offset}")
            if code in MOVED:
                self._metadata.forget(where.topic)

    def _write_marker(self, where: TopicPartition, found: ProducerState, timer: RetryTimer) -> int:
        marker = Fields(
            producer_id=found.producer.producer_id,
            producer_epoch=found.producer.epoch,
            transaction_result=_ABORT,
            topics=[Fields(name=where.topic, partition_indexes=(where.partition,))],
            coordinator_epoch=_NOTHING if found.coordinator_epoch is None else found.coordinator_epoch,
        )
        channel = self._metadata.leader(where, timer)
        request = Fields(markers=[marker])
        # It may be written twice: the second marker finds no open transaction.
        answer: Any = self._metadata.retry(lambda: channel.call(WRITE_TXN_MARKERS, request, timer.deadline), timer)
        code: int = answer["markers"][0]["topics"][0]["partitions"][0]["error_code"]
        return code

    def _error_for(self, code: int, table: ErrorTable, what: str) -> EosfwError:
        return error_for(code, table, f"{what} at {self._metadata.network.servers}")


def _description(each: Any, coordinator: int) -> TransactionDescription:
    state = TransactionState(each["transaction_state"])
    return TransactionDescription(
        transactional_id=each["transactional_id"],
        coordinator=coordinator,
        state=state,
        producer=ProducerIdAndEpoch(each["producer_id"], each["producer_epoch"]),
        timeout=_milliseconds(each["transaction_timeout"]) / 1000,
        started=_known(_milliseconds(each["transaction_start_time"])) if state.is_open else None,
        partitions=frozenset(
            TopicPartition(topic["topic"], number) for topic in each["topics"] for number in topic["partitions"]
        ),
    )


def _producer(each: Any) -> ProducerState:
    return ProducerState(
        producer=ProducerIdAndEpoch(each["producer_id"], each["producer_epoch"]),
        last_sequence=each["last_sequence"],
        last_timestamp=_milliseconds(each["last_timestamp"]),
        coordinator_epoch=_known(each["coordinator_epoch"]),
        open_since=_known(each["current_txn_start_offset"]),
    )


def _milliseconds(value: Any) -> int:
    """Milliseconds of a timestamp or duration: kio gives Python's own types, a direct call gives numbers."""
    if value is None:
        return _NOTHING
    if isinstance(value, timedelta):
        return round(value / timedelta(milliseconds=1))
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else int(value)


def _known(value: int) -> int | None:
    return None if value < 0 else value
