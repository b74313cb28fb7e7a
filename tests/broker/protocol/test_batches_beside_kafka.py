"""Hostile batches get from the embedded broker the very codes that Kafka gives, and leave nothing behind."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from conformance import broker_state
from conformance.calls import Caller
from conformance.record_fields import producing
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.markers import marker
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .raw_batches import GZIP, LZ4, NOW, PACKERS, SNAPPY, ZSTD, batch, idempotent, one, patched, record, xerial

HOUR = 3_600_000
FAR = 5 * HOUR
LATE = {"message.timestamp.before.max.ms": str(HOUR)}
COMPACT = {"cleanup.policy": "compact"}
STAMPED = {"message.timestamp.type": "LogAppendTime"}
OTHER_SIZE = "the size of a record inside a packed batch, which Kafka never reads, though its consumers do"


@dataclass(frozen=True)
class Sent:
    """Bytes for one partition."""

    data: bytes
    config: Mapping[str, str] = field(default_factory=dict)
    version: int = 11


HEADERS: dict[Code, dict[str, bytes | Sent]] = {
    Code.NONE: {
        "a good one": one(),
        "a good one, half of another behind": one() + one()[:40],
        "a good one, ten bytes behind": one() + one()[:10],
        "LogAppendTime": one(attributes=8),
        "LogAppendTime over a record ahead": batch(record(stamp=FAR), attributes=8),
        "a producer with epoch -1": idempotent(1_000_001, epoch=-1),
        "producer -5": idempotent(-5),
        "no producer with a sequence number": one(sequence=5),
        "no producer with an epoch": one(epoch=5),
        "a horizon": one(attributes=0x40),
        "attributes nobody knows": one(attributes=-128),
        "a leader epoch": one(leader_epoch=77),
        "newest that is ahead of all records": one(newest=NOW + FAR),
        "newest that is before all records": one(newest=-5),
        "no newest": one(newest=-1),
        "first in 1969": one(first=-5),
        "zstd of version 7": Sent(batch(record(), kind=ZSTD, pack=PACKERS[ZSTD]), version=7),
    },
    Code.INVALID_RECORD: {
        "no bytes at all": b"",
        "eight bytes": one()[:8],
        "half a header": one()[:30],
        "cut off": one()[:-1],
        "two batches": one() * 2,
        "magic 0": one(magic=0),
        "magic 1": one(magic=1),
        "a length one too long": one(length=len(one()) - 11),
        "a length of 100 MB": one(length=100_000_000),
        "no records": one(records=0),
        "-1 records": one(records=-1),
        "2^31-1 records": one(records=2**31 - 1),
        "2^31-1 records that span as many offsets": one(records=2**31 - 1, last_delta=2**31 - 2),
        "more offsets than records": one(last_delta=5),
        "base offset 5": one(base_offset=5),
        "base offset -1": one(base_offset=-1),
        "a control flag on data": one(attributes=0x20),
        "sequence -1": idempotent(1_000_002, sequence=-1),
        "sequence -5": idempotent(1_000_002, sequence=-5),
    },
    Code.CORRUPT_MESSAGE: {
        "a wrong checksum": one(crc=1),
        "zeros behind": one() + bytes(90),
        "magic 3": one(magic=3),
        "magic 127": one(magic=127),
        "magic 127, half a header": one(magic=127)[:20],
        "magic -1": one(magic=-1),
        "length -1": one(length=-1),
        "length 0": one(length=0),
        "length 13": one(length=13),
        "length 48": one(length=48),
        "length 49 of more": one(length=49),
        "a length one too short": one(length=len(one()) - 13),
    },
    Code.UNKNOWN_SERVER_ERROR: {"compression 5": one(attributes=5), "compression 7": one(attributes=7)},
    Code.UNSUPPORTED_COMPRESSION_TYPE: {
        "zstd of version 6": Sent(batch(record(), kind=ZSTD, pack=PACKERS[ZSTD]), version=6)
    },
    Code.INVALID_PRODUCER_EPOCH: {"epoch -7": idempotent(1_000_003, epoch=-7)},
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: {
        "a marker": patched(marker(ProducerIdAndEpoch(7, 0), TransactionResult.COMMIT, 0, NOW), base_offset=0),
        "a transactional flag, no producer": one(attributes=0x10),
        "a transactional flag": idempotent(1_000_004, transactional=True),
    },
}

RECORDS: dict[Code, dict[str, bytes | Sent]] = {
    Code.NONE: {
        "a size with a needless byte": batch(b"\x8e\x80\x00" + record()[1:]),
        "a timestamp with a needless byte": batch(b"\x10\0\x80\0\0\1\2v\0"),
        "a key of -2 bytes": batch(record(key=b"\3")),
        "no value": batch(record(value=b"\1")),
        "a value of -5 bytes": batch(record(value=b"\x09")),
        "a header": batch(record(headers=b"\2\2a\2b")),
        "a header without value": batch(record(headers=b"\2\2a\1")),
        "a header's name that is no text": batch(record(headers=b"\2\2\xff\2b")),
        "attributes": batch(record(attributes=0xFF)),
        "an offset that skips some": batch(record(offset=7)),
        "an offset that goes back": batch(record(offset=-7)),
        "offsets in another order": batch(record(offset=1), record()),
        "a key where one is due": Sent(batch(record(key=b"\2k")), COMPACT),
        "no timestamp": Sent(batch(record(stamp=-NOW - 1)), LATE),
        "one that is late where any may be": batch(record(), record(stamp=-FAR, offset=1)),
        "one ahead, stamped here": Sent(batch(record(), record(stamp=FAR, offset=1)), STAMPED),
    },
    Code.INVALID_RECORD: {
        "noise": batch(b"\x7f" * 20),
        "zeros": batch(bytes(20)),
        "a zero": batch(b"\0"),
        "nothing": batch(b""),
        "bytes behind the last": batch(record() + b"xyz"),
        "more than declared": batch(record() + record(offset=1)),
        "fewer than declared": batch(record(), records=5, last_delta=4),
        "a size far too large": batch(record(size=500)),
        "a size one too large": batch(record(size=8)),
        "a size one too small": batch(record(size=6)),
        "a size that ends within, more behind": batch(record(size=5), record(offset=1)),
        "a size that ends in the next": batch(record(size=9), record(offset=1)),
        "size 0": batch(record(size=0)),
        "size -1": batch(record(size=-1)),
        "a timestamp of 11 bytes": batch(b"\x22\0" + b"\xff" * 11 + b"\0\1\2v\0"),
        "an offset of 6 bytes": batch(b"\x18\0\0" + b"\xff" * 5 + b"\1\1\2v\0"),
        "a key beyond the batch": batch(record(key=b"\x7e")),
        "a key beyond the record": batch(record(key=b"\x0ekkk"), record(offset=1)),
        "a value beyond the batch": batch(record(value=b"\x7ev")),
        "a value beyond the record": batch(record(value=b"\x0cvvv"), record(offset=1)),
        "no number of headers": batch(record(headers=b"")),
        "-1 headers": batch(record(headers=b"\1")),
        "63 headers that are not there": batch(record(headers=b"\x7e")),
        "2 headers of which 1 is there": batch(record(headers=b"\4\2a\2b")),
        "1 header where 2 are": batch(record(headers=b"\2\2a\2b\2c\2d")),
        "a header without name": batch(record(headers=b"\2\1\2b")),
        "no key where one is due": Sent(one(), COMPACT),
        "no key in the second": Sent(batch(record(key=b"\2k"), record(offset=1)), COMPACT),
        "no key in one ahead": Sent(batch(record(key=b"\2k"), record(offset=1, stamp=FAR)), COMPACT),
    },
    Code.INVALID_TIMESTAMP: {
        "one ahead": batch(record(), record(stamp=FAR, offset=1)),
        "the first ahead": one(first=NOW + FAR),
        "the first at the beginning of time": one(first=-(2**63)),
        "the first at the end of time": one(first=2**63 - 1),
        "one late": Sent(batch(record(), record(stamp=-FAR, offset=1)), LATE),
        "the first late": Sent(one(first=NOW - FAR, newest=NOW), LATE),
        "LogAppendTime ahead": one(attributes=8, newest=NOW + FAR),
        "LogAppendTime, stamped here": Sent(one(attributes=8), STAMPED),
        "one ahead, another without key": Sent(batch(record(), record(key=b"\2k", offset=1, stamp=FAR)), COMPACT),
    },
    Code.UNKNOWN_SERVER_ERROR: {
        "a size of 6 bytes": batch(b"\xff\xff\xff\xff\xff\x01" + record()),
        "ones": batch(b"\xff" * 20),
    },
}


def packed(kind: int) -> dict[Code, dict[str, bytes | Sent]]:
    """What is the same with every compression."""
    pack = PACKERS[kind]

    def made(*records: bytes, repack: Callable[[bytes], bytes] = pack, **header: int) -> bytes:
        return batch(*records, kind=kind, pack=repack, **header)

    many = [record(offset=number) for number in range(40)]
    return {
        Code.NONE: {
            "records": made(*many),
            "newest that lies": made(record(), newest=NOW + FAR),
            "attributes": made(record(attributes=0xFF)),
        },
        Code.INVALID_RECORD: {
            "nothing, packed": made(b""),
            "bytes behind the last": made(record() + b"xyz"),
            "more than declared": made(record() + record(offset=1)),
            "fewer than declared": made(record(), records=5, last_delta=4),
            "ones": made(b"\xff" * 20),
            "zeros": made(bytes(20)),
            "a key beyond the batch": made(record(key=b"\x7e")),
            "a header without name": made(record(headers=b"\2\1\2b")),
            "-1 headers": made(record(headers=b"\1")),
            "no key where one is due": Sent(made(record()), COMPACT),
        },
        Code.INVALID_TIMESTAMP: {
            "one ahead": made(record(), record(stamp=FAR, offset=1)),
            "one late": Sent(made(record(), record(stamp=-FAR, offset=1)), LATE),
        },
        Code.UNKNOWN_SERVER_ERROR: {
            "not packed": made(record(), repack=bytes),
            "cut by 1": made(*many, repack=lambda data: pack(data)[:-1]),
            "cut by 9": made(*many, repack=lambda data: pack(data)[:-9]),
            "half": made(*many, repack=lambda data: pack(data)[: len(pack(data)) // 2]),
            "noise behind the first bytes": made(record(), repack=lambda data: pack(data)[:4] + b"\xff" * 20),
            "offsets that skip some": made(record(offset=7)),
        },
    }


def two_streams(kind: int) -> bytes:
    halves = (PACKERS[kind](record(offset=number)) for number in range(2))
    return batch(b"".join(halves), kind=kind, records=2, last_delta=1)


def followed(kind: int) -> bytes:
    return batch(record(), kind=kind, pack=lambda data: PACKERS[kind](data) + b"more")


def of_snappy(text: bytes) -> bytes:
    return batch(text, kind=SNAPPY)


BLOCK = b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 0x7FFFFFFF) + b"short"
SINGLE: dict[Code, dict[str, bytes | Sent]] = {
    Code.NONE: {
        "gzip, two members": two_streams(GZIP),
        "zstd, two frames": two_streams(ZSTD),
        "gzip, more behind": followed(GZIP),
        "lz4, more behind": followed(LZ4),
        "snappy as Java frames it": batch(record(), kind=SNAPPY, pack=xerial),
    },
    Code.INVALID_RECORD: {"lz4, two frames": two_streams(LZ4), "zstd of nothing": batch(b"", kind=ZSTD)},
    Code.UNKNOWN_SERVER_ERROR: {
        "snappy, two blocks": two_streams(SNAPPY),
        "snappy, more behind": followed(SNAPPY),
        "zstd, more behind": followed(ZSTD),
        "gzip of nothing": batch(b"", kind=GZIP),
        "snappy of nothing": batch(b"", kind=SNAPPY),
        "lz4 of nothing": batch(b"", kind=LZ4),
        "lz4 of blocks that hang together": batch(bytes(1 << 20), kind=LZ4, pack=PACKERS[LZ4]),
        "snappy, a block of 0x7fffffff": of_snappy(BLOCK),
        "snappy, cut in a block": of_snappy(xerial(record())[:-2]),
        "snappy, cut in the header": of_snappy(xerial(record())[:12]),
    },
}


@dataclass(frozen=True)
class Stricter:
    """A batch that this broker refuses though Kafka accepts it, or refuses with another code."""

    data: bytes
    ours: Code
    kafkas: Code
    why: str


OTHERWISE = {
    "length 2^31-1": Stricter(
        one(length=2**31 - 1), Code.INVALID_RECORD, Code.UNKNOWN_SERVER_ERROR, "a sum that overflows there"
    ),
    "snappy of 0x7fffffff bytes": Stricter(
        of_snappy(b"\xff\xff\xff\xff\x07short"), Code.MESSAGE_TOO_LARGE, Code.UNKNOWN_SERVER_ERROR, "the limit"
    ),
} | {
    f"compression {kind}, {name}": Stricter(
        batch(*records, kind=kind, pack=pack), Code.INVALID_RECORD, Code.NONE, OTHER_SIZE
    )
    for kind, pack in PACKERS.items()
    for name, records in {
        "a size one too large": [record(size=8)],
        "a size one too small": [record(size=6)],
        "a size that ends in the next": [record(size=9), record(offset=1)],
        "size -1": [record(size=-1)],
    }.items()
}
TABLES = {"header": HEADERS, "records": RECORDS, "single": SINGLE}
TABLES |= {f"compression {kind}": packed(kind) for kind in PACKERS}


class Produce:
    """Sends to topics of its own, one for each configuration."""

    def __init__(self, servers: str) -> None:
        self.caller = Caller(servers)
        self._topics: dict[frozenset[tuple[str, str]], str] = {}

    def topic(self, config: Mapping[str, str]) -> str:
        known = frozenset(config.items())
        if known not in self._topics:
            name = self._topics[known] = f"hostile-{uuid.uuid4().hex[:8]}"
            configs = [Fields(name=key, value=value) for key, value in config.items()]
            new = Fields(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=configs)
            [made] = self.caller.ask(19, 5, topics=[new], timeout=milliseconds(30), validate_only=False)["topics"]
            assert made["error_code"] == Code.NONE
            self.caller.until(lambda: self.end(name) is not None)
        return self._topics[known]

    def __call__(self, topic: str, sent: Sent) -> Code:
        answer = self.caller.ask(0, sent.version, **producing([(topic, 0, sent.data)]))
        return Code(int(answer["responses"][0]["partition_responses"][0]["error_code"]))

    def end(self, topic: str) -> int | None:
        """The high watermark; None while the partition has no leader."""
        where = TopicPartition(topic, 0)
        found = broker_state.listed_offset(self.caller, where, IsolationLevel.READ_UNCOMMITTED)
        return found["offset"] if found["error_code"] == Code.NONE else None


@pytest.fixture(scope="module")
def produce(cluster) -> Iterator[Produce]:
    made = Produce(cluster.bootstrap_servers)
    yield made
    made.caller.close()


@pytest.mark.parametrize("table", TABLES)
def test_each_batch_gets_its_code_and_leaves_nothing_when_refused(produce, table):
    """Every accepted batch must be readable later."""
    wanted, found = {}, {}
    for code, cases in TABLES[table].items():
        for name, case in cases.items():
            sent = case if isinstance(case, Sent) else Sent(case)
            topic = produce.topic(sent.config)
            before = produce.end(topic)
            found[code, name] = produce(topic, sent), produce.end(topic) > before
            wanted[code, name] = code, code is Code.NONE

    assert found == wanted


def test_unreadable_batches_are_rejected_where_kafka_accepts_them(cluster, produce):
    """Each deviation is written down, with what Kafka says."""
    expected = {name: case.kafkas if cluster.name == "kafka" else case.ours for name, case in OTHERWISE.items()}

    assert {name: produce(produce.topic({}), Sent(case.data)) for name, case in OTHERWISE.items()} == expected
