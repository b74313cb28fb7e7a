"""Transactions that are open in a partition although no coordinator will end them (KIP-664; `find-hanging`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from eosfw.errors import EosfwError, TransactionalIdNotFoundError
from eosfw.ids import TopicPartition
from eosfw.transactions import ProducerState, TransactionAdmin, TransactionDescription, TransactionFilters

__all__ = ["HangingTransaction", "find_hanging"]

_MAX_TIMEOUT = 900.0
"""Kafka's default of `transaction.max.timeout.ms`, for brokers that will not say theirs."""
_MARGIN = 300.0
"""Seconds after its timeout in which a coordinator may still abort a transaction."""


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """A transaction that holds back a partition's last stable offset until it is aborted there."""

    partition: TopicPartition
    state: ProducerState
    transactional_id: str | None
    """The id of its producer; None if no coordinator knows the producer id any more."""

    @property
    def start_offset(self) -> int:
        """The first offset, which identifies the transaction together with its partition."""
        return -1 if self.state.open_since is None else self.state.open_since


def find_hanging(
    admin: TransactionAdmin, partitions: Collection[TopicPartition], now: float, older_than: float | None = None
) -> list[HangingTransaction]:
    """Compare open transactions in partitions with what their coordinators know, as `kafka-transactions.sh` does.

    `now` is in seconds since 1970. A transaction counts if nothing was written to it for `older_than` seconds, by
    default the longest transaction timeout and five minutes. Needs the capability `describe_transactions`.
    """
    since = 1000 * (now - (_longest_timeout(admin) if older_than is None else older_than))
    found = admin.describe_producers(partitions)
    suspects = [
        (where, state)
        for where, states in found.items()
        for state in states
        if state.open_since is not None and state.last_timestamp <= since
    ]
    return list(_hanging(admin, suspects)) if suspects else []


def _longest_timeout(admin: TransactionAdmin) -> float:
    longest = admin.max_transaction_timeout()
    return (_MAX_TIMEOUT if longest is None else longest) + _MARGIN


def _hanging(
    admin: TransactionAdmin, suspects: Collection[tuple[TopicPartition, ProducerState]]
) -> Iterator[HangingTransaction]:
    producer_ids = frozenset(state.producer.producer_id for _, state in suspects)
    listed = admin.list_transactions(TransactionFilters(producer_ids=producer_ids))
    names = {each.producer_id: each.transactional_id for each in listed}
    known: Mapping[str, TransactionDescription | EosfwError] = (
        admin.describe_transactions(frozenset(names.values())) if names else {}
    )
    for where, state in suspects:
        name = names.get(state.producer.producer_id)
        if name is None or not _will_end(known[name], where):
            yield HangingTransaction(where, state, name)


def _will_end(known: TransactionDescription | EosfwError, where: TopicPartition) -> bool:
    """Whether a coordinator will write a marker there."""
    if isinstance(known, TransactionalIdNotFoundError):
        return False
    if isinstance(known, EosfwError):  # the coordinator could not be asked, so the transaction may well end
        raise known
    return where in known.partitions
