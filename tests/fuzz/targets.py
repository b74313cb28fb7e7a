"""The fuzz targets: every reader of network or disk bytes, with the exceptions it may raise."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import NamedTemporaryFile

from crc32c import crc32c
from tests.fuzz import sasl
from tests.fuzz.data_directory import BESIDE, SEGMENTS, SMALL_FILES, resealed, with_checksums
from tests.fuzz.samples import SAMPLES

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, DamagedDataError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw.security import Address
from eosfw_memory.client.consumer.fetched_records import decode_to_lists, visible_records
from eosfw_memory.client.transport.messages import AnswerError, format_of
from eosfw_memory.common.delayed_operation import DelayedOperation, DisconnectClientError
from eosfw_memory.common.log_errors import LogError
from eosfw_memory.faults.parsing import read_rules
from eosfw_memory.faults.points import requests
from eosfw_memory.faults.rules import KINDS
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.coordinators import transaction_log_records
from eosfw_memory.server.coordinators.groups import group_records
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import CONSUMER
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import JoinRequest, Member
from eosfw_memory.server.coordinators.groups.modern.consumer_group_records import ConsumerGroupKey, read_change
from eosfw_memory.server.coordinators.groups.offset_expiration import subscribed_topics
from eosfw_memory.server.protocol.codec import RequestError, decode
from eosfw_memory.server.protocol.routes import ROUTES
from eosfw_memory.server.security.access_tokens import InvalidTokenError
from eosfw_memory.server.security.sasl_server import SaslError
from eosfw_memory.storage.files.segments.producer_snapshot import decode_state
from eosfw_memory.storage.records.batch import read_header, split
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.records.compression import unpack

CORPUS = Path(__file__).with_name("corpus")
_CRC_AT, _COVERED_FROM, _LENGTH_AT, _LENGTH_END = 17, 21, 8, 12
_ROUND = 500
_UNPACKED = 1 << 16
_SHARED = {"batch-header": ("batch",), "records": ("batch",), "fetched": ("batch",), "served-request": ("request",)}
"""Whose samples serve others, too."""


FEW = 60
"""Inputs for a target that starts a broker twice for each of them."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of bytes from unknown clients or damaged disks."""

    name: str
    read: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...]
    """What it may raise."""
    repair: Callable[[bytes], bytes] | None = None
    """Makes a checksum right, so that the code behind the check is reached."""
    limit: int = 4096
    """The largest input, in bytes."""
    words: tuple[bytes, ...] = ()
    """Tokens of its format, where that is text."""
    inputs: int = 1500
    """How many inputs near its samples the tests try."""


def check(target: Target, data: bytes) -> None:
    """Run the target on an input; raise unexpected exceptions."""
    try:
        target.read(data)
    except target.allowed:
        """Refused, as it should be."""


def _header(data: bytes) -> int:
    return read_header(data).attributes & 0x3F


def _batches(data: bytes) -> int:
    return sum(len(decode_records(batch, header)) for header, batch in split(data))


def _records(data: bytes) -> tuple[bool, int]:
    columns = decode_records(data)
    return columns.headers is None, len(columns)


def _fetched(data: bytes) -> Hashable:
    """What a client shows of a fetch at read_committed."""
    aborted = [{"producer_id": 1000, "first_offset": 0}]
    fetched = {"aborted_transactions": aborted, "records": data}
    decode = partial(decode_to_lists, headers=True)
    shown = visible_records(TopicPartition("t", 0), fetched, OffsetRange(0, 1 << 62), decode)
    return len(shown.batches), shown.position.bit_length()


def _request(data: bytes) -> tuple[int, int]:
    try:
        codec = decode(data).codec
    except RequestError as why:
        _refuse_exhaustion(why)
        raise
    return codec.key, codec.version


def _answer(data: bytes) -> Hashable:
    """What a client makes of an answer; the first two bytes choose its kind and its version."""
    kind = data[0] if data else 0
    route = ROUTES.get(kind) or ROUTES[sorted(ROUTES)[kind % len(ROUTES)]]
    version = route.min_version + (data[1] if data[1:] else 0) % (route.max_version - route.min_version + 1)
    try:
        _, answer = format_of(route.key, version).answer(data[2:])
    except AnswerError as why:
        _refuse_exhaustion(why)
        raise
    return route.key, version, len(str(answer)).bit_length()


def _refuse_exhaustion(why: Exception) -> None:
    """Bytes that only came to an end because nothing was left of the machine."""
    if isinstance(why.__cause__, MemoryError | RecursionError):
        raise why.__cause__


def _unpacked(data: bytes) -> Hashable:
    plain = unpack(data[0] & 7 if data else 0, data[1:], _UNPACKED)
    assert len(plain) <= _UNPACKED
    return data[0] & 7, len(plain).bit_length()


def _subscription(data: bytes) -> int | None:
    """The subscribed topics of a consumer group member, decoded from its opaque metadata."""
    joining = JoinRequest(
        member_id="m",
        instance_id=None,
        client_id="c",
        client_host="/127.0.0.1",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocol_type=CONSUMER,
        protocols=(("range", data),),
    )
    group = Group("g", 0)
    group.add(Member.of("m", joining), CONSUMER)
    group.state, group.protocol_name = GroupState.STABLE, "range"
    topics = subscribed_topics(group)
    return None if topics is None else len(topics)


def _faults(data: bytes) -> Hashable:
    with NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        rules = read_rules(Path(file.name))
    for rule in rules:
        assert all(math.isfinite(value) for value in asdict(rule).values() if isinstance(value, float)), rule
    return tuple(rule.kind for rule in rules)


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
    name = transaction_log_records.decode_key(data[1 : 1 + cut])
    known = transaction_log_records.decode_value(name or "x", data[1 + cut :])
    return known.state, len(known.partitions)


def _group_record(data: bytes) -> Hashable:
    cut = data[0] if data else 0
    key = group_records.read_key(data[1 : 1 + cut])
    if isinstance(key, group_records.OffsetKey):
        return bool(group_records.read_offset(key, data[1 + cut :]).metadata)
    if isinstance(key, ConsumerGroupKey):
        return read_change(key, data[1 + cut :]).kind
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
            self._broker = Broker(Settings.parse({}), Address("127.0.0.1", 9092), ThreadRuntime())
            self._broker.topics.create("t", 1, {})
        self._left -= 1
        context = Context(incoming.codec.version, incoming.client_id, "/127.0.0.1")
        answer = self._broker.serve(incoming.codec.handler, incoming.body, context)
        if isinstance(answer, DelayedOperation):
            answer = self._broker.attempt(answer, expired=True)
        self._broker.settle()
        frame = b"" if answer is None else b"".join(incoming.codec.encode(incoming.correlation_id, answer))
        return incoming.codec.key, incoming.codec.version, len(frame) // 8


_WORDS = (
    *b'0 -1 1 10001 2147483648 9223372036854775808 1.5 1e999 nan inf null true [] {} "" "..": "../x"'.split(),
    *(b"a/b", b".", b"compact", b"9" * 5000, b"[" * 2000, b"\0", b"\xff"),
)
_FAULT_WORDS = (*_WORDS, *(name.encode() for name in (*KINDS, *requests())), b"[[fault]]", b"-inf", b"1979-05-27")
_AT_A_START = (ConfigError, DamagedDataError)

TARGETS = {
    target.name: target
    for target in (
        Target("batch-header", _header, (LogError,), _with_checksum),
        Target("batch", _batches, (LogError,), _with_checksum),
        Target("records", _records, (LogError,), _with_checksum),
        Target("fetched", _fetched, (LogError,), _with_checksum),
        Target("request", _request, (RequestError,)),
        Target("served-request", _Served(), (RequestError, DisconnectClientError)),
        Target("transaction-record", _transaction_record, (DamagedDataError,)),
        Target("group-record", _group_record, (DamagedDataError,)),
        Target("snapshot", _snapshot, ()),
        Target("segment-file", SEGMENTS, _AT_A_START, with_checksums, inputs=FEW),
        Target("index-file", BESIDE, _AT_A_START, resealed, inputs=FEW),
        Target("small-files", SMALL_FILES, _AT_A_START, words=_WORDS, inputs=FEW),
        Target("compressed", _unpacked, (LogError,)),
        Target("subscription", _subscription, ()),
        Target("faults-file", _faults, (ConfigError,), words=_FAULT_WORDS),
        Target("answer", _answer, (AnswerError,)),
        Target("sasl-plain", sasl.plain, (SaslError,), words=(b"\0", b"\xff")),
        Target("sasl-scram", sasl.scram, (SaslError,), words=sasl.SCRAM_WORDS),
        Target("sasl-oauthbearer", sasl.oauthbearer, (SaslError,), words=sasl.TOKEN_WORDS),
        Target("signed-token", sasl.SignedToken(), (InvalidTokenError,), words=sasl.TOKEN_WORDS),
    )
}


@cache
def corpus(name: str) -> tuple[bytes, ...]:
    """The samples of a target, and what it once failed on."""
    kinds = (name, *_SHARED.get(name, ()))
    failed = (path.read_bytes() for kind in kinds for path in sorted((CORPUS / kind).glob("*.bin")))
    return (*failed, *(sample for kind in kinds for sample in SAMPLES.get(kind, tuple)()))
