"""Encode and decode what members of a group tell each other through its coordinator (Kafka's `ConsumerProtocol`)."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.message_reader import MessageReader
from eosfw_memory.server.coordinators.message_writer import string

CONSUMER: Final = "consumer"
"""The protocol type of consumers; Kafka Connect's workers have another."""
_SUBSCRIPTION_VERSION, _ASSIGNMENT_VERSION = 2, 1
_OWNED_VERSION, _GENERATION_VERSION, _RACK_VERSION = 1, 2, 3
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_NULL = _INT32.pack(-1)
NO_GENERATION: Final = -1


@dataclass(frozen=True, slots=True)
class Subscription:
    """The topics that a member subscribes to, and what it owned in which generation (KIP-429, KIP-792)."""

    topics: frozenset[str] = frozenset()
    owned: frozenset[TopicPartition] = frozenset()
    generation: int = NO_GENERATION
    rack: str | None = None
    """Where it reads (KIP-881); read, never written."""

    def encode(self) -> bytes:
        """The bytes of version 2 of the schema."""
        topics = [string(topic) for topic in sorted(self.topics)]
        pieces = [_INT16.pack(_SUBSCRIPTION_VERSION), _INT32.pack(len(topics)), *topics, _NULL]
        return b"".join([*pieces, *_partitions(self.owned), _INT32.pack(self.generation)])

    @classmethod
    def decode(cls, data: bytes) -> Subscription:
        """Read any version of the schema; a member whose bytes cannot be read subscribes to nothing."""
        try:
            return cls.read(data)
        except ValueError:
            return cls()

    @classmethod
    def read(cls, data: bytes) -> Subscription:
        """Read any version of the schema; raises ValueError."""
        # Not by kio, which reserves memory for as many elements as the bytes of another member declare.
        reader = MessageReader(data, 0, compact=False)
        try:
            (version,) = reader.unpack(_INT16)
            topics = frozenset(reader.string() for _ in range(reader.int32()))
            reader.nullable_binary()  # user data, which older assignors use
            owned = frozenset(_read_partitions(reader)) if version >= _OWNED_VERSION else frozenset()
            generation = reader.int32() if version >= _GENERATION_VERSION else NO_GENERATION
            rack = reader.nullable_string() if version >= _RACK_VERSION else None
        except struct.error as why:
            raise ValueError(str(why)) from why
        return cls(topics, owned, generation, rack)


def schema_version(data: bytes) -> int:
    """The version that a member wrote its subscription in; 0 for bytes that hold none."""
    return int(_INT16.unpack_from(data)[0]) if len(data) >= _INT16.size else 0


def encode_assignment(partitions: Collection[TopicPartition], version: int = _ASSIGNMENT_VERSION) -> bytes:
    """The bytes of an assignment, which are the same in every version but for its number."""
    return b"".join([_INT16.pack(version), *_partitions(partitions), _NULL])


def decode_assignment(data: bytes) -> frozenset[TopicPartition]:
    """The partitions of an assignment; none in bytes that hold no assignment, as for a member that gets nothing."""
    try:
        return read_assignment(data)[0]
    except ValueError:
        return frozenset()


def read_assignment(data: bytes) -> tuple[frozenset[TopicPartition], bytes]:
    """The partitions of an assignment, with what an assignor of its own added; raises ValueError."""
    reader = MessageReader(data, _INT16.size, compact=False)
    try:
        return frozenset(_read_partitions(reader)), reader.nullable_binary() or b""
    except struct.error as why:
        raise ValueError(str(why)) from why


def _partitions(partitions: Collection[TopicPartition]) -> Iterator[bytes]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    yield _INT32.pack(len(topics))
    for topic, numbers in topics.items():
        yield string(topic)
        yield _INT32.pack(len(numbers))
        yield from map(_INT32.pack, numbers)


def _read_partitions(reader: MessageReader) -> Iterator[TopicPartition]:
    for _ in range(reader.int32()):
        topic = reader.string()
        for _ in range(reader.int32()):
            yield TopicPartition(topic, reader.int32())
