"""Valid inputs that fuzzing starts from."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from io import BytesIO
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_writer
from tests.broker.protocol.raw_batches import patched
from tests.broker.protocol.test_every_version import filled
from tests.fuzz import sasl
from tests.fuzz.data_directory import BESIDE, SEGMENTS, SMALL_FILES

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.server.coordinators import transaction_log_records
from eosfw_memory.server.coordinators.groups import group_records
from eosfw_memory.server.coordinators.groups.modern.changes import (
    Change,
    ChangeKind,
    GroupMetadata,
    ResolvedRegularExpression,
    TargetAssignment,
    TargetAssignmentMetadata,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group_records import change_key, change_value
from eosfw_memory.server.coordinators.groups.modern.member import CurrentAssignment, MemberMetadata, MemberState
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.server.protocol.routes import ROUTES
from eosfw_memory.storage.files.segments.producer_snapshot import encode_producers
from eosfw_memory.storage.log.producer_state import ProducerStateManager
from eosfw_memory.storage.records.batch import HEADER, LENGTH_END, read_header
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.markers import marker
from eosfw_memory.storage.records.transaction_result import TransactionResult

PRODUCER = ProducerIdAndEpoch(1000, 3)


def batches() -> Iterator[bytes]:
    """Batches of each kind."""
    yield encode_batch([b"k", None], [b"v", None], [1, 2], headers=[(("h", b"x"),), (("h", None),)])
    yield encode_batch(None, [b"v"] * 3, 5, producer=PRODUCER, base_sequence=0, transactional=True)
    whole = marker(PRODUCER, TransactionResult.ABORT, 1, 7)
    yield whole
    yield patched(whole[: HEADER.size], records=0, length=HEADER.size - LENGTH_END)


def requests() -> Iterator[bytes]:
    """The oldest and the newest version of every request."""
    for key, route in ROUTES.items():
        for version in sorted({route.min_version, route.max_version}):
            schema = load_request_schema(key, version)
            out, head = BytesIO(), schema.__header_schema__
            message = {"request_api_key": key, "request_api_version": version, "correlation_id": 5, "client_id": "me"}
            entity_writer(head)(out, head(**message))
            entity_writer(schema)(out, filled(schema, elements=1))
            yield out.getvalue()


def transactions() -> Iterator[bytes]:
    """Records of the transaction log."""
    known = TransactionMetadata("x", 1000, 3, 60_000, TransactionState.ONGOING, frozenset({TopicPartition("t", 0)}))
    for one in (known, known._replace(state=TransactionState.EMPTY, partitions=frozenset())):
        key = transaction_log_records.encode_key(one.transactional_id)
        yield bytes([len(key)]) + key + transaction_log_records.encode_value(one)


def groups() -> Iterator[bytes]:
    """Records of the log of groups."""
    key = group_records.offset_key("g", TopicPartition("t", 0))
    yield bytes([len(key)]) + key + group_records.offset_value(group_records.Committed(7, -1, "", 5))
    key = group_records.group_key("g")
    yield bytes([len(key)]) + key + struct.pack(">hh8sihhqi", 3, 8, b"consumer", 1, -1, -1, 5, 0)
    assignment = {UUID(int=7): frozenset({0, 2})}
    values = (
        GroupMetadata(3, 5),
        MemberMetadata(
            instance_id="i", client_id="c", client_host="/h", topic_names=frozenset({"t"}), topic_regex="t.*"
        ),
        TargetAssignmentMetadata(3),
        TargetAssignment(assignment),
        CurrentAssignment(3, 2, MemberState.UNREVOKED_PARTITIONS, assignment, assignment),
        ResolvedRegularExpression(frozenset({"t"}), 1, 5),
    )
    kinds = (kind for kind in ChangeKind if kind is not ChangeKind.PARTITION_METADATA)
    for change in (Change(kind, "m", value) for kind, value in zip(kinds, values, strict=True)):
        key = change_key("g", change)
        yield bytes([len(key)]) + key + (change_value(change) or b"")


def snapshots() -> Iterator[bytes]:
    """What a partition knows of its producers."""
    states = ProducerStateManager()
    for sequence in range(3):
        batch = encode_batch(None, [b"v"], 5, producer=PRODUCER, base_sequence=sequence, transactional=True)
        states.update(read_header(batch), sequence)
    yield encode_producers(states)
    yield encode_producers(ProducerStateManager())


def compressed() -> Iterator[bytes]:
    """A few bytes by every codec, snappy's as Java frames them, too."""
    plain = b"some records " * 40
    yield b"\1" + gzip.compress(plain, mtime=0)
    bare = bytes(import_module("cramjam").snappy.compress_raw(plain))
    yield b"\2" + bare
    yield b"\2\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(bare)) + bare
    yield b"\3" + import_module("lz4.frame").compress(plain)
    yield b"\4" + import_module("zstandard").compress(plain)


def subscriptions() -> Iterator[bytes]:
    """What consumers and Connect's workers say when they join."""
    topics = struct.pack(">i", 2) + b"".join(struct.pack(">h", len(name)) + name for name in (b"a", b"bc"))
    for version in range(4):
        yield struct.pack(">h", version) + topics + struct.pack(">ii", -1, 0)
    yield struct.pack(">h", 1) + struct.pack(">h", 3) + b"url" + struct.pack(">qi", 5, -1)


FAULTS = """[[fault]]
kind = "lose"
request = "EndTxn"
nth = 2
times = 3

[[fault]]
kind = "delay"
request = "Produce"
seconds = 0.5
transactional_id = "x"

[[fault]]
kind = "fail"
request = "Fetch"
code = "NOT_LEADER_OR_FOLLOWER"

[[fault]]
kind = "jump"
at = "before-Heartbeat"
seconds = 60
"""


def faults() -> Iterator[bytes]:
    """Files for `eosfw broker --faults`."""
    yield FAULTS.encode()
    yield b""


def answers() -> Iterator[bytes]:
    """The oldest and the newest version of every answer."""
    for key, route in ROUTES.items():
        for version in sorted({route.min_version, route.max_version}):
            schema = load_response_schema(key, version)
            out, head = BytesIO(), schema.__header_schema__
            entity_writer(head)(out, head(correlation_id=5))
            entity_writer(schema)(out, filled(schema, elements=1))
            yield bytes([key, version - route.min_version]) + out.getvalue()


SAMPLES: Mapping[str, Callable[[], Iterable[bytes]]] = {
    "batch": batches,
    "request": requests,
    "transaction-record": transactions,
    "group-record": groups,
    "snapshot": snapshots,
    "compressed": compressed,
    "subscription": subscriptions,
    "faults-file": faults,
    "answer": answers,
    "segment-file": SEGMENTS.samples,
    "index-file": BESIDE.samples,
    "small-files": SMALL_FILES.samples,
    "sasl-plain": lambda: (b"\0alice\0wonderland",),
    "sasl-scram": sasl.scram_exchanges,
    "sasl-oauthbearer": sasl.oauthbearer_messages,
    "signed-token": sasl.signed_tokens,
}
