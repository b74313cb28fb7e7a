"""Call the parts of kafka-python's producer that its public methods do not offer; no other module does.

Its public methods wait without limit, take no header without value, commit a transaction that lost a batch, and give a
fenced producer a new epoch. The methods below them do none of that. The package bounds the version of the library.
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
"""The arguments of its producer, which refuses those that only its network client takes."""


def producer(config: Mapping[str, Any], connect: Callable[..., Any]) -> KafkaProducer:
    """A producer over a client that `connect` makes; its thread runs."""
    made = KafkaProducer(**{name: each for name, each in config.items() if name in KNOWN}, kafka_client=connect)
    made._unregister_cleanup()  # its handler at exit would go on sending for a second
    manager = made._transaction_manager
    if manager is not None and manager.is_transactional():
        # KIP-360 lets a producer that was refused for an old epoch ask for a new one, even if it does not hold the id
        # any more: a zombie would fence its successor. Without support for the bump it fails. It then also takes an
        # unknown producer id as fatal, as Kafka does (KAFKA-18019).
        manager._supports_epoch_bump = lambda: False
        manager._restart_epoch_bump_without_producer_id = lambda _timeout, _result: manager.transition_to_fatal_error(
            kafka_errors.ProducerFencedError()
        )
    return made


def initialise(client: KafkaProducer) -> Any:
    """Start InitProducerId for the transactional id; return the result to wait for."""
    result = client._transaction_manager.initialize_transactions()
    client._sender.wakeup()
    return result


def begin(client: KafkaProducer) -> None:
    """Begin a transaction; drop the group offsets of an aborted one, which the library would commit with this one."""
    client._transaction_manager._pending_txn_offset_commits.clear()
    client.begin_transaction()


def end(client: KafkaProducer, *, commit: bool) -> Any:
    """Start EndTxn; return the result to wait for."""
    manager = client._transaction_manager
    result = manager.begin_commit() if commit else manager.begin_abort()
    client._sender.wakeup()
    return result


def send_offsets(client: KafkaProducer, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata) -> Any:
    """Start to add a group's offsets to the transaction; return the result to wait for."""
    kafka_offsets = {KafkaPartition(*one): OffsetAndMetadata(at, "", _NO_LEADER_EPOCH) for one, at in offsets.items()}
    kafka_group = KafkaGroup(group.group_id, group.generation, group.member_id, group.instance_id)
    result = client._transaction_manager.send_offsets_to_transaction(kafka_offsets, kafka_group)
    client._sender.wakeup()
    return result


def renew_epoch(client: KafkaProducer) -> None:
    """Ask for a higher epoch of the own producer id, which resets the sequence numbers (KIP-360)."""
    manager = client._transaction_manager
    manager._supports_epoch_bump = lambda: True
    try:
        manager.bump_producer_id_and_epoch()
    finally:
        manager._supports_epoch_bump = lambda: False
    client._sender.wakeup()


def is_renewing_epoch(client: KafkaProducer) -> bool:
    """Whether the higher epoch has not been granted yet."""
    return bool(client._transaction_manager.is_bumping_epoch())


def transaction_error(client: KafkaProducer) -> tuple[Exception | None, bool]:
    """The error that put the transaction, or the producer, into its error state, and whether it is fatal."""
    manager = client._transaction_manager
    if manager is None or not manager.has_error():
        return None, False
    return manager.last_error, manager._current_state is TransactionState.FATAL_ERROR


def partitions(client: KafkaProducer, topic: str, wait: float) -> frozenset[int]:
    """The partitions of a topic; raises an error of the library if the topic does not appear in time."""
    known = client._metadata.partitions_for_topic(topic)
    return frozenset(known if known is not None else client._wait_on_metadata(topic, wait * 1000))


def request_metadata_update(client: KafkaProducer) -> None:
    """Have the metadata requested again, since partitions may have been added."""
    client._metadata.request_update()
    client._sender.wakeup()


def accumulator(client: KafkaProducer) -> Any:
    """The library's `RecordAccumulator`, from which its sender takes records."""
    return client._accumulator


def sender(client: KafkaProducer) -> Any:
    """The library's `Sender`, the thread that sends them."""
    return client._sender


def add_partition_to_transaction(client: KafkaProducer, where: KafkaPartition) -> None:
    """Add a partition to the transaction; raises if no transaction is open, or it has failed."""
    manager = client._transaction_manager
    if manager is not None and manager.is_transactional():
        manager.maybe_add_partition_to_transaction(where)


def force_close(client: KafkaProducer) -> None:
    """Stop the sender's thread without sending what is left; the library's close() can leave it running for ever."""
    client._closed = True
    client._sender.force_close()
