"""After a start, end the open transactions that the coordinator does not know.

A record, and the change in the transaction log that adds its partition to the transaction, are both written before
either is acknowledged. A crash of the machine may keep the record alone. Then no marker would ever be written to the
partition, and readers at read_committed would wait for ever. The producer may still be alive and repeat the record,
which is a duplicate then; so while the producer holds the id, the partition is added again instead of an abort.
"""

from __future__ import annotations

import logging

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import KafkaError
from eosfw_memory.server.broker.state import BrokerState
from eosfw_memory.server.coordinators.transaction_metadata import TV_2, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import COMPLETED, TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

_LOG = logging.getLogger(__name__)
_ENDS = frozenset({TransactionState.ONGOING, *COMPLETED})


def end_unknown(broker: BrokerState) -> None:
    """Add every open transaction to the coordinator's state; abort those that belong to none of its ids."""
    opened = [(where, each.producer) for where, log in broker.topics.logs().items() for each in log.open_transactions()]
    holders = broker.coordinator.state.ids_by_producer() if opened else {}
    for where, producer in opened:
        known = broker.coordinator.describe(holders.get(producer.producer_id, ""))
        if known is not None and _is_behind(known, producer):
            known = broker.coordinator.markers.complete_unlogged(known.transactional_id, broker.now_ms())
        if known is not None and known.state in _ENDS and where in known.partitions:
            continue
        if known is None or not _noted(broker, known.transactional_id, producer, where):
            _abort(broker, where, producer, known)


def _is_behind(known: TransactionMetadata, producer: ProducerIdAndEpoch) -> bool:
    """Whether a write belongs to the transaction after the decided one, which therefore had all its markers.

    Their epochs differ with those clients that begin by writing (KIP-890); a marker would end the wrong one.
    """
    if known.state not in COMPLETED or known.client_version < TV_2:
        return False
    return producer.producer_id == known.next_producer_id or producer == known.producer


def _noted(broker: BrokerState, name: str, producer: ProducerIdAndEpoch, where: TopicPartition) -> bool:
    """Whether the coordinator adds the partition; clients of version 2 alone write before that."""
    try:
        broker.coordinator.add_partitions(name, producer, [where], broker.now_ms(), TV_2)
    except KafkaError:
        return False
    _LOG.warning("%s-%d: a write of %r was there without its transaction: it is in it again", *where, name)
    return True


def _abort(
    broker: BrokerState, where: TopicPartition, producer: ProducerIdAndEpoch, known: TransactionMetadata | None
) -> None:
    whose = f"producer {producer.producer_id}" if known is None else repr(known.transactional_id)
    try:
        log = broker.topics.logs()[where]
        epoch = log.producers()[producer.producer_id].coordinator_epoch
        broker.write_marker(where, producer, TransactionResult.ABORT, max(epoch, 0))
    except KafkaError as why:
        _LOG.warning("%s-%d: no coordinator knows the open transaction of %s: %s", *where, whose, why)
    else:
        _LOG.warning("%s-%d: no coordinator knew the open transaction of %s: aborted", *where, whose)
