"""Invalid responses, to the first request or later, raise an eosfw error by the deadline with bounded memory."""

from __future__ import annotations

import itertools
import socket
import struct
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO
from typing import Any
from uuid import uuid4

import pytest
from kio.index import load_response_schema
from kio.serial import entity_writer

from broker.protocol.raw_batches import patched
from broker.protocol.test_every_version import filled
from clocks import AdvancedClock
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError, EosfwError, IndefiniteOutcomeError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, IsolationLevel, NewTopic
from eosfw.records import OffsetRange
from eosfw.security import Address
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.consumer.fetched_records import visible_records
from eosfw_memory.client.transport import apis
from eosfw_memory.client.transport.apis import API_VERSIONS, Api
from eosfw_memory.client.transport.messages import AnswerError, format_of
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.protocol.bounds_check import MAX_ANSWERED
from eosfw_memory.storage.records.batch import HEADER, LENGTH_END
from eosfw_memory.storage.records.markers import marker
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.records.varints import encoded_unsigned
from pytest_eos.contracts.backends.deadlines import BOUND, CALLS, ONE
from pytest_eos.contracts.backends.harness import WAIT, record

from .proxy import Proxy

RUNTIME = ThreadRuntime()
_LENGTH = struct.Struct(">i")
_KIND = struct.Struct(">hh")
MEGABYTE = 1 << 20
PATIENT = 10.0
"""Seconds, where a busy machine must not be what ends a call."""


Twist = Callable[[bytes, int, int], bytes]
"""From an honest frame without its length, the kind and the version of its request, to the bytes that are sent."""


def framed(body: bytes, announced: int | None = None) -> bytes:
    return _LENGTH.pack(len(body) if announced is None else announced) + body


def with_nothing_in_it(frame: bytes, key: int, version: int) -> bytes:
    """Every list empty, every number 0: well formed."""
    schema = load_response_schema(key, version)
    out, head = BytesIO(), schema.__header_schema__
    entity_writer(head)(out, head(correlation_id=_LENGTH.unpack_from(frame)[0]))
    entity_writer(schema)(out, filled(schema, elements=0))
    return framed(out.getvalue())


OF_THE_CONTENT: dict[str, Twist] = {
    "counts of two thousand million": lambda frame, *_: framed(frame[:4] + b"\x00" + b"\xff\xff\xff\xff\x07" * 8),
    "counts of 2^31 - 1": lambda frame, *_: framed(frame[:4] + b"\x7f\xff\xff\xff" * 8),
    "cut off": lambda frame, *_: framed(frame[:-3]),
    "cut off behind its number": lambda frame, *_: framed(frame[:4]),
    "only bits that are set": lambda frame, *_: framed(frame[:4] + b"\xff" * len(frame)),
}
"""Each response is read by a schema of its own."""
OF_THE_FRAME: dict[str, Twist] = {
    "half of what is announced": lambda frame, *_: framed(frame[: len(frame) // 2], len(frame)),
    "200 MB announced": lambda frame, *_: framed(frame, 200 * MEGABYTE),
    "2 GB announced": lambda frame, *_: framed(frame, 2**31 - 1),
    "less than nothing announced": lambda frame, *_: framed(frame, -1),
    "the number of another request": lambda frame, *_: framed(struct.pack(">i", 77) + frame[4:]),
    "another protocol": lambda *_: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}
"""Frames of all responses are received by the same code."""
SILENCE: dict[str, Twist] = {"silence": lambda *_: b""}
AT_ONCE = OF_THE_CONTENT | OF_THE_FRAME | {"no version": with_nothing_in_it}
"""What a server may say to ApiVersions, by which a client begins."""


def spread(twists: dict[str, Twist]) -> list[Any]:
    """Every call with one of the twists, and so every twist with a call."""
    return [
        pytest.param(twists[twist], call, id=f"{twist}-{call}")
        for twist, call in zip(itertools.cycle(twists), CALLS, strict=False)
    ]


class Twister(Proxy):
    """Forwards requests to a broker and changes the responses, those to ApiVersions only `at_once`."""

    def __init__(self, broker: str, twist: Twist, *, at_once: bool) -> None:
        self._twist = twist
        self._spared = None if at_once else API_VERSIONS.key
        super().__init__(broker)

    def passing(self, client: socket.socket, broker: socket.socket) -> Iterable[Callable[[], None]]:
        return (partial(self._serve, client, broker),)

    def _serve(self, client: socket.socket, broker: socket.socket) -> None:
        while request := received(client):
            key, version = _KIND.unpack_from(request)
            broker.sendall(framed(request))
            if not (answer := received(broker)):
                break
            client.sendall(framed(answer) if key == self._spared else self._twist(answer, key, version))


def received(peer: socket.socket) -> bytes:
    """A frame without its length; empty at the end."""
    length = peer.recv(_LENGTH.size, socket.MSG_WAITALL)
    return peer.recv(_LENGTH.unpack(length)[0], socket.MSG_WAITALL) if len(length) == _LENGTH.size else b""


@pytest.fixture
def reached(brief_first_contact: None) -> Iterator[Callable[[Twist], tuple[str, MemoryBackend]]]:
    """Return a client behind a proxy that changes responses, and the address of the proxy."""
    closing = ExitStack()

    def reach(
        twist: Twist, timeout: float = BOUND, *, at_once: bool = False, clock: ThreadRuntime = RUNTIME
    ) -> tuple[str, MemoryBackend]:
        cluster = EmbeddedCluster.start({"listeners": "127.0.0.1:0"}, RUNTIME)
        closing.callback(cluster.close)
        cluster.broker.topics.create("topic", 1, {})
        twister = Twister(cluster.bootstrap_servers, twist, at_once=at_once)
        closing.callback(twister.close)
        host, port = twister.address.split(":")
        cluster.broker.endpoint = Address(host, int(port))  # so that nobody is sent past it
        properties = {"bootstrap.servers": twister.address, "default.api.timeout.ms": f"{timeout * 1000:.0f}"}
        properties["request.timeout.ms"] = f"{timeout * 400:.0f}"
        backend = MemoryBackend.connect(properties, clock)
        closing.callback(backend.close)
        return twister.address, backend

    with closing:
        yield reach


@contextmanager
def within(most: int) -> Iterator[None]:
    """No more bytes than these are set aside at any time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most


@pytest.mark.parametrize(("twist", "call"), spread(AT_ONCE))
def test_a_server_that_does_not_speak_kafkas_protocol_is_named(reached, twist, call):
    """Hostile answers: nothing was sent to it but ApiVersions, so nothing is indefinite."""
    address, backend = reached(twist, at_once=True)

    why = failure(CALLS[call], backend)

    assert isinstance(why, ClusterUnavailableError)
    assert address in str(why)


@pytest.mark.parametrize(
    ("twist", "call"),
    [
        *(pytest.param(twist, call, id=f"{name}-{call}") for name, twist in OF_THE_CONTENT.items() for call in CALLS),
        *spread(OF_THE_FRAME | SILENCE),
    ],
)
def test_a_non_kafka_response_is_an_error_in_bounded_time_and_memory(reached, twist, call):
    """Hostile answers: the call ends by its deadline, names who answered, sets nothing aside for what is announced."""
    address, backend = reached(twist)

    with within(32 * MEGABYTE):
        why = failure(CALLS[call], backend)

    assert isinstance(why, ClusterUnavailableError | IndefiniteOutcomeError)
    assert address in str(why)


def failure(call: Callable[[MemoryBackend], object], backend: MemoryBackend) -> EosfwError | None:
    """The error of a call, which must end in time."""
    ended: list[EosfwError] = []

    def tried() -> None:
        try:
            call(backend)
        except EosfwError as why:
            ended.append(why)

    assert RUNTIME.spawn("calling", tried).join(WAIT), "it never ends"
    return ended[0] if ended else None


def initialised(backend: MemoryBackend, **properties: str) -> Any:
    producer = backend.producer(uuid4().hex, properties=properties)
    producer.init_transactions(PATIENT)
    producer.begin_transaction()
    return producer


def written(backend: MemoryBackend) -> None:
    producer = initialised(backend)
    producer.send(record("topic", b"v"))
    producer.commit_transaction(PATIENT)


def written_by_request(backend: MemoryBackend) -> None:
    """In version 1 of transactions, where each partition is added by a request of its own (KIP-890)."""
    producer = initialised(backend, **{"eosfw.transaction.version": "1"})
    producer.send(record("topic", b"v"))
    producer.commit_transaction(PATIENT)


def consumed(backend: MemoryBackend) -> None:
    producer = initialised(backend)
    producer.send_offsets({ONE: 1}, ConsumerGroupMetadata("g"), PATIENT)
    producer.commit_transaction(PATIENT)


def broken_off(backend: MemoryBackend) -> None:
    """Abort what hangs; something does."""
    producer = initialised(backend)
    producer.send(record("topic", b"v"))
    producer.flush(PATIENT)
    (open_now,) = [each for each in backend.admin().describe_producers([ONE])[ONE] if each.open_since is not None]
    backend.admin().abort_transaction(ONE, open_now.open_since)


def read(backend: MemoryBackend) -> None:
    list(backend.reader(IsolationLevel.READ_COMMITTED).read({ONE: OffsetRange(0, 1)}, PATIENT))


def fenced(backend: MemoryBackend) -> None:
    backend.admin().fence_producers(["x", "y"]).all().result(PATIENT)


ProducerCall = Callable[[MemoryBackend], object]
SILENT: dict[str, tuple[Api, ProducerCall]] = {
    "FindCoordinator": (apis.FIND_COORDINATOR, initialised),
    "FindCoordinator, of many": (apis.FIND_COORDINATOR, fenced),
    "Metadata": (apis.METADATA, written),
    "CreateTopics": (apis.CREATE_TOPICS, lambda backend: backend.admin().create_topics([NewTopic("new")])),
    "ListOffsets": (apis.LIST_OFFSETS, lambda backend: backend.admin().log_start_offsets([ONE])),
    "Fetch": (apis.FETCH, read),
    "Produce": (apis.PRODUCE, written),
    "AddPartitionsToTxn": (apis.ADD_PARTITIONS, written_by_request),
    "TxnOffsetCommit": (apis.TXN_OFFSET_COMMIT, consumed),
    "OffsetFetch": (apis.OFFSET_FETCH, lambda backend: backend.admin().group_offsets("g", [ONE])),
    "DescribeConfigs": (apis.DESCRIBE_CONFIGS, lambda backend: backend.admin().topic_config("topic")),
    "DescribeConfigs, of a broker": (apis.DESCRIBE_CONFIGS, lambda backend: backend.admin().max_transaction_timeout()),
    "DescribeProducers": (apis.DESCRIBE_PRODUCERS, lambda backend: backend.admin().open_transactions([ONE])),
    "WriteTxnMarkers": (apis.WRITE_TXN_MARKERS, broken_off),
}


@pytest.mark.parametrize(("api", "call"), SILENT.values(), ids=SILENT)
def test_an_empty_response_is_an_error(reached, api, call):
    """Silence would pass for success: a partition never added, offsets never committed; or for a question to repeat."""
    kinds, clock = [], AdvancedClock()

    def silent(frame: bytes, key: int, version: int) -> bytes:
        kinds.append(key)
        if kinds.count(apis.FETCH.key) > 1:  # a reader asks again until its time is over
            clock.ahead = 2 * PATIENT
        return with_nothing_in_it(frame, key, version) if key == api.key else framed(frame)

    address, backend = reached(silent, PATIENT, clock=clock)

    why = failure(call, backend)

    assert api.key in kinds
    assert why is not None
    assert address in str(why)


def test_transactions_unknown_to_their_coordinator_are_listed_as_unknown(reached):
    address, backend = reached(
        lambda frame, key, version: (
            with_nothing_in_it(frame, key, version) if key == apis.DESCRIBE_TRANSACTIONS.key else framed(frame)
        ),
        PATIENT,
    )

    reported = backend.admin().describe_transactions(["x"])["x"]

    assert isinstance(reported, ClusterUnavailableError)
    assert address in str(reported)


def test_a_control_batch_that_compaction_has_emptied_is_stepped_over():
    """CON-05, Kafka's testEmptyControlBatch: it ends no transaction, and it is no damage."""
    whole = marker(ProducerIdAndEpoch(7, 0), TransactionResult.ABORT, 0, 1)
    empty = patched(whole[: HEADER.size], records=0, length=HEADER.size - LENGTH_END)
    fetched = {"aborted_transactions": (), "records": empty}

    shown = visible_records(TopicPartition("t", 0), fetched, OffsetRange(0, 9), lambda *_: [])

    assert (list(shown.batches), shown.position) == ([], 1)


def metadata_of(topics: int) -> bytes:
    """An answer to Metadata 12 that names so many topics, each in as few bytes as it takes."""
    one = struct.pack(">hb16sb", 0, 0, bytes(16), 0) + b"\x01" + struct.pack(">ib", 0, 0)
    head = struct.pack(">ibi", 1, 0, 0) + b"\x01\x00" + struct.pack(">i", 0)
    return head + encoded_unsigned(topics + 1) + one * topics + b"\0"


def test_a_response_with_too_many_elements_is_refused_before_parsing():
    """What is 27 bytes on the wire is a thousand in memory."""
    read = format_of(3, 12).answer
    assert len(read(metadata_of(300))[1]["topics"]) == 300
    frame = metadata_of(MAX_ANSWERED + 1)
    with within(MEGABYTE), pytest.raises(AnswerError, match=f"more than {MAX_ANSWERED} elements"):
        read(frame)
