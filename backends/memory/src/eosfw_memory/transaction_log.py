"""Keep the transaction log in the topic `__transaction_state`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eosfw_memory.coordinators.log_records import decode_key, decode_value, encode_key, encode_value
from eosfw_memory.coordinators.metadata import TransactionMetadata
from eosfw_memory.log.codec import decode_records, encode_batch
from eosfw_memory.topics import Partition, Topic


def partition_for(transactional_id: str, partitions: int) -> int:
    """Where Kafka keeps an id: the absolute value of Java's hash of the text (COR-01)."""
    unsigned = java_hash(transactional_id)
    signed = unsigned - (1 << 32) if unsigned >> 31 else unsigned
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def java_hash(text: str) -> int:
    """`String.hashCode` of Java, as 32 unsigned bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value
