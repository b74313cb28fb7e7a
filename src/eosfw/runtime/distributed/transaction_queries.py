"""The open transactions of the cluster that a worker writes to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing

from eosfw.concurrency import Runtime
from eosfw.hanging_transactions import HangingTransaction, find_hanging
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, Backend
from eosfw.protocols.herder import OpenTransactionInfo, TransactionPartition
from eosfw.transactions import TransactionDescription, TransactionFilters, TransactionState, open_offsets

_OPEN = tuple(state for state in TransactionState if state.is_open)
HANGING = "Hanging"


class TransactionQueries:
    """Asks the cluster; each call opens an admin client."""

    def __init__(self, topics: Callable[[], Collection[str]], backend: Backend, runtime: Runtime) -> None:
        """`topics` are those in which transactions that hang are looked for."""
        self._topics, self._backend, self._runtime = topics, backend, runtime

    def open(self) -> list[OpenTransactionInfo]:
        """Every open transaction, oldest first; those that hang among them."""
        with closing(self._backend.admin()) as admin:
            own = _partitions(admin, self._topics())
            hanging = find_hanging(admin, own, self._runtime.wall()) if own else []
            found = [*_known_by_coordinators(admin), *map(_of_hanging, hanging)]
        return sorted(found, key=lambda one: (one.started is None, one.started or 0, one.transactional_id or ""))


def _partitions(admin: Admin, topics: Collection[str]) -> list[TopicPartition]:
    counts = admin.partitions(topics) if topics else {}
    return [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]


def _known_by_coordinators(admin: Admin) -> Iterator[OpenTransactionInfo]:
    names = [one.transactional_id for one in admin.list_transactions(TransactionFilters(states=_OPEN))]
    answers = admin.describe_transactions(names) if names else {}
    # One that ended since, or that this principal may not describe, is left out.
    described = [one for one in answers.values() if isinstance(one, TransactionDescription) and one.state.is_open]
    since = open_offsets(admin, described)
    for one in described:
        producer = one.producer
        yield OpenTransactionInfo(
            one.transactional_id,
            one.state.value,
            producer.producer_id,
            producer.epoch,
            one.started,
            int(one.timeout * 1000),
            [
                TransactionPartition(where.topic, where.partition, since.get((where, producer.producer_id)))
                for where in sorted(one.partitions)
            ],
        )


def _of_hanging(one: HangingTransaction) -> OpenTransactionInfo:
    producer, where = one.state.producer, one.partition
    partitions = [TransactionPartition(where.topic, where.partition, one.start_offset)]
    last_written = one.state.last_timestamp
    return OpenTransactionInfo(
        one.transactional_id, HANGING, producer.producer_id, producer.epoch, last_written, None, partitions
    )
