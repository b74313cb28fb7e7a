"""Reach those parts of kafka-python's producer that its public calls do not offer.

Its calls wait without limit, take no header without value, commit a transaction of which a batch was lost, and turn
fenced producers into new holders. What they are made of does none of this; the version of the library is bounded.
"""
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka import KafkaProducer, OffsetAndMetadata
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.producer.transaction_manager import TransactionState
from kafka.structs import ConsumerGroupMetadata as KafkaGroup

from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata

_NO_LEADER_EPOCH: Final = -1
KNOWN: Final = frozenset(KafkaProducer.DEFAULT_CONFIG)
"""The arguments its producer takes; it refuses those that are for its network client alone."""


def producer(config: Mapping[str, Any], connect: Callable[..., Any]) -> KafkaProducer:
    """A producer over a client that `connect` makes; its thread runs."""
    made = KafkaProducer(**{name: each for name, each in config.items() if name in KNOWN}, kafka_client=connect)
    made._unregister_cleanup()  # at exit it would deliver for a second more
    manager = made._transaction_manager
    if manager is not None and manager.is_transactional():
        # It would answer an old epoch with a new one, for which it needs to own the id no more (KIP-360): a zombie
        # would fence its successor. Told that it cannot, it fails; it then takes a lost mapping of the id to its
        # producer id for fatal, too (KAFKA-18019).
        manager._supports_epoch_bump = lambda: False
        manager._restart_epoch_bump_without_producer_id = lambda _timeout, _result: manager.transition_to_fatal_error(
            kafka_errors.ProducerFencedError()
        )
    return made


def initialise(client: KafkaProducer) -> Any:
    """Begin to take over the transactional id; gives what to wait for."""
    result = client._transaction_manager.initialize_transactions()
    client._sender.wakeup()
    return result


def begin(client: KafkaProducer) -> None:
    """Open a transaction, without the group offsets of one that was aborted: it would commit them with this one."""
    client._transaction_manager._pending_txn_offset_commits.clear()
    client.begin_transaction()


def end(client: KafkaProducer, *, commit: bool) -> Any:
    """Begin to end the transaction; gives what to wait for."""
    manager = client._transaction_manager
    result = manager.begin_commit() if commit else manager.begin_abort()
    client._sender.wakeup()
    return result


def send_offsets(client: KafkaProducer, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata) -> Any:
    """Begin to add a group's offsets; gives what to wait for."""
    kafka_offsets = {KafkaPartition(*one): OffsetAndMetadata(at, "", _NO_LEADER_EPOCH) for one, at in offsets.items()}
    kafka_group = KafkaGroup(group.group_id, group.generation, group.member_id, group.instance_id)
    result = client._transaction_manager.send_offsets_to_transaction(kafka_offsets, kafka_group)
    client._sender.wakeup()
    return result


def renew_epoch(client: KafkaProducer) -> None:
    """Ask for a higher epoch of the producer id that is held: KIP-360's cure for sequences that nobody knows."""
    manager = client._transaction_manager
    manager._supports_epoch_bump = lambda: True
    try:
        manager.bump_producer_id_and_epoch()
    finally:
        manager._supports_epoch_bump = lambda: False
    client._sender.wakeup()


def is_renewing_epoch(client: KafkaProducer) -> bool:
    """Whether the higher epoch is still to come."""
    return bool(client._transaction_manager.is_bumping_epoch())


def transaction_error(client: KafkaProducer) -> tuple[Exception | None, bool]:
    """What put the transaction, or the producer, into its error state; whether for good."""
    manager = client._transaction_manager
    if manager is None or not manager.has_error():
        return None, False
    return manager.last_error, manager._current_state is TransactionState.FATAL_ERROR


def partitions(client: KafkaProducer, topic: str, wait: float) -> frozenset[int]:
    """The partitions of a topic; an error of the library if there is none within so many seconds."""
    known = client._metadata.partitions_for_topic(topic)
    return frozenset(known if known is not None else client._wait_on_metadata(topic, wait * 1000))


def request_metadata_update(client: KafkaProducer) -> None:
    """Have the topics asked for anew, as partitions may have been added."""
    client._metadata.request_update()
    client._sender.wakeup()


def accumulator(client: KafkaProducer) -> Any:
    """Where records wait for the sender."""
    return client._accumulator


def sender(client: KafkaProducer) -> Any:
    """The thread that sends them."""
    return client._sender


def add_partition_to_transaction(client: KafkaProducer, where: KafkaPartition) -> None:
    """Make a partition part of the transaction; raises if none is open, or it failed."""
    manager = client._transaction_manager
    if manager is not None and manager.is_transactional():
        manager.maybe_add_partition_to_transaction(where)


def force_close(client: KafkaProducer) -> None:
    """Stop its thread without sending what is left; its own close() would leave it running for ever."""
    client._closed = True
    client._sender.force_close()
