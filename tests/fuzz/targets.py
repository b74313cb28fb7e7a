"""Name everything that reads bytes of strangers or of a disk, with what it may raise."""

from __future__ import annotations

import struct
from collections.abc import Hashable
from functools import cache
from pathlib import Path

from crc32c import crc32c
from tests.fuzz.fuzzer import Target

from eosfw.errors import DamagedDataError
from eosfw.waiting import ThreadRuntime
from eosfw_memory.broker import Broker, Context
from eosfw_memory.coordinators import log_records
from eosfw_memory.coordinators.groups import records as group_records
from eosfw_memory.deferred import Deferred
from eosfw_memory.log.batch import read_header, split
from eosfw_memory.log.codec import decode_records
from eosfw_memory.log.errors import LogError
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.storage.snapshots import decode_state
from eosfw_memory.wire.codec import RequestError, decode

CORPUS = Path(__file__).with_name("corpus")
_CRC_AT, _COVERED_FROM, _LENGTH_AT, _LENGTH_END = 17, 21, 8, 12
_ROUND = 500
_SHARED = {"batch-header": ("batch",), "records": ("batch",), "served-request": ("request",)}
"""Whose samples serve others, too."""


def _header(data: bytes) -> int:
    return read_header(data).attributes & 0x3F


def _batches(data: bytes) -> int:
    return sum(len(decode_records(batch, header)) for header, batch in split(data))


def _records(data: bytes) -> tuple[bool, int]:
    columns = decode_records(data)
    return columns.headers is None, len(columns)


def _request(data: bytes) -> tuple[int, int]:
    codec = decode(data).codec
    return codec.key, codec.version


def _with_checksum(data: bytes) -> bytes:
    """The same batch with the length and the checksum that fit."""
    if len(data) < _COVERED_FROM:
        return data
    body = data[_COVERED_FROM:]
    length = struct.pack(">i", len(data) - _LENGTH_END)
    head = data[:_LENGTH_AT] + length + data[_LENGTH_END:_CRC_AT]
    return head + struct.pack(">I", crc32c(body)) + body


def _transaction_record(data: bytes) -> Hashable:
    cut = data[0] if data else 0
    name = log_records.decode_key(data[1 : 1 + cut])
    known = log_records.decode_value(name or "x", data[1 + cut :])
    return known.state, len(known.partitions), known.client_version


def _group_record(data: bytes) -> Hashable:
    cut = data[0] if data else 0
    key = group_records.read_key(data[1 : 1 + cut])
    if isinstance(key, group_records.OffsetKey):
        return bool(group_records.read_offset(key, data[1 + cut :]).metadata)
    return str(group_records.read_group("g", data[1 + cut :]).state)


def _snapshot(data: bytes) -> int | None:
    state = decode_state(memoryview(data))
    return None if state is None else len(state.producers.known())


class _Served:
    """A broker that answers whatever can be read, made anew from time to time."""

    def __init__(self) -> None:
        self._left = 0

    def __call__(self, data: bytes) -> Hashable:
        incoming = decode(data)
        if not self._left:
            self._left = _ROUND
            self._broker = Broker(Settings.parse({}), Endpoint("127.0.0.1", 9092), ThreadRuntime())
            self._broker.topics.create("t", 1, {})
        self._left -= 1
        context = Context(incoming.codec.version, incoming.client_id, "/127.0.0.1")
        answer = self._broker.serve(incoming.codec.handler, incoming.body, context)
        if isinstance(answer, Deferred):
            answer = self._broker.attempt(answer, expired=True)
        self._broker.settle()
        frame = b"" if answer is None else incoming.codec.encode(incoming.correlation_id, answer)
        return incoming.codec.key, incoming.codec.version, len(frame) // 8


TARGETS = {
    target.name: target
    for target in (
        Target("batch-header", _header, (LogError,), _with_checksum),
        Target("batch", _batches, (LogError,), _with_checksum),
        Target("records", _records, (LogError,), _with_checksum),
        Target("request", _request, (RequestError,)),
        Target("served-request", _Served(), (RequestError,)),
        Target("transaction-record", _transaction_record, (DamagedDataError,)),
        Target("group-record", _group_record, (DamagedDataError,)),
        Target("snapshot", _snapshot, ()),
    )
}


@cache
def corpus(name: str) -> tuple[bytes, ...]:
    """The samples of a target, and what it once failed on."""
    kinds = (name, *_SHARED.get(name, ()))
    return tuple(path.read_bytes() for kind in kinds for path in sorted((CORPUS / kind).glob("*.bin")))
