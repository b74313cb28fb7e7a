"""See to it that every transaction that a partition holds open will be ended.

A record and the coordinator's note that its transaction touches the partition are written together before either is
acknowledged. A machine that goes down may keep the record alone; without a note nobody would ever end the transaction
there, so readers at read_committed would wait for good. Whoever wrote the record may still be there, ask again, and be
told that it was written; so where it is still the holder's turn the note is written anew, instead of an abort.
"""

from __future__ import annotations

import logging

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.broker_state import BrokerState
from eosfw_memory.codes import KafkaError
from eosfw_memory.coordinators.transaction_metadata import TV_2, TransactionMetadata
from eosfw_memory.coordinators.transaction_state import COMPLETED, TransactionState
from eosfw_memory.records.transaction_result import TransactionResult

_LOG = logging.getLogger(__name__)
_ENDS = frozenset({TransactionState.ONGOING, *COMPLETED})


def end_unknown(broker: BrokerState) -> None:
    """Have the coordinator know of every open transaction; abort those that none of its ids can be in."""
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
    """Whether a write is of the transaction after the decided one, whose markers were all there, then.

    Their epochs differ with those clients that begin by writing (KIP-890); a marker would end the wrong one.
    """
    if known.state not in COMPLETED or known.client_version < TV_2:
        return False
    return producer.producer_id == known.next_producer_id or producer == known.producer


def _noted(broker: BrokerState, name: str, producer: ProducerIdAndEpoch, where: TopicPartition) -> bool:
    """Whether the coordinator takes the partition in; only clients that begin by writing leave a record alone."""
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
