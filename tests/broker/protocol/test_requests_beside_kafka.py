"""Produce, Fetch and WriteTxnMarkers as a whole answer as Kafka does."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.calls import Caller
from conformance.record_fields import SOME, Named, fetching, position, producing
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.codec import encode_batch

from ..groups.group_requests import Raw
from .raw_batches import NOW, batch, idempotent, one, patched, record

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
REFUSED_ID = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
LONG = milliseconds(60)
"""Longer than any client here waits for an answer."""
LARGEST = 57_671_680


@pytest.fixture(scope="module")
def caller(cluster) -> Iterator[Caller]:
    made = Caller(cluster.bootstrap_servers)
    made.create(first := f"w-{uuid.uuid4().hex[:8]}", 1)
    made.warm_up(first, TopicPartition(first, 0))
    yield made
    made.close()


@pytest.fixture
def topic(caller) -> str:
    name = f"hostile-{uuid.uuid4().hex[:8]}"
    caller.create(name, 3)
    return name


@pytest.fixture
def own(caller, topic) -> ProducerIdAndEpoch:
    """The producer of the transactional id that has the topic's name; partitions 0 and 1 are in its transaction."""
    begun = caller.init(topic)
    assert begun.code is Code.NONE
    producer = begun.producer
    for number in range(2):
        assert caller.add(topic, producer, TopicPartition(topic, number)).code is Code.NONE
    return producer


def produced(caller: Caller, sent: Named, transactional_id: str | None = None, **how: int) -> dict[tuple, Code]:
    """The code of each partition; a second answer for one would fail."""
    version = how.pop("version", 11)
    answer = caller.ask(0, version, **producing(sent, transactional_id, **how))
    each = [
        ((topic["name"], one["index"]), one) for topic in answer["responses"] for one in topic["partition_responses"]
    ]
    assert len(each) == len(dict(each))
    return {where: Code(int(one["error_code"])) for where, one in each}


def wanted(*positions: tuple[str, int, int], limit: int = SOME) -> list[Fields]:
    """Partitions from offsets on, each under a topic of its own."""
    return [Fields(topic=name, partitions=[position(index, offset, limit)]) for name, index, offset in positions]


def fetched(answer: Any) -> list[tuple[int, Code, int]]:
    """Partition, code, bytes."""
    return [
        (each["partition_index"], Code(int(each["error_code"])), len(each["records"] or b""))
        for topic in answer["responses"]
        for each in topic["partitions"]
    ]


def ends(caller: Caller, topic: str) -> list[int]:
    answer = caller.ask(1, 12, **fetching(wanted(*((topic, number, 0) for number in range(3)))))
    return [each["high_watermark"] for found in answer["responses"] for each in found["partitions"]]


def id_of(caller: Caller, topic: str) -> uuid.UUID:
    named = [Fields(topic_id=None, name=topic)]
    how = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    return caller.ask(3, 12, topics=named, **how)["topics"][0]["topic_id"]


class TestProduce:
    def test_a_transactional_request_of_two_producers_is_refused(self, caller, topic, own):
        """The transactional id is valid for one producer; not even plain batches of the request are appended."""
        pid, epoch = own.producer_id, own.epoch
        sent = [
            (topic, 0, idempotent(pid, epoch, transactional=True)),
            (topic, 1, idempotent(pid + 1, epoch, transactional=True)),
            (topic, 2, one()),
            ("nowhere", 0, one()),
        ]

        for version in (11, 12):
            codes = produced(caller, sent, topic, version=version)
            assert codes == {(name, index): Code.INVALID_PRODUCER_ID_MAPPING for name, index, _ in sent}
        assert ends(caller, topic) == [0, 0, 0]

    def test_a_transactional_request_of_two_epochs_is_refused(self, caller, topic, own):
        """A transaction is that of one epoch; the older one may be a zombie's."""
        sent = [
            (topic, number, idempotent(own.producer_id, own.epoch + number, transactional=True)) for number in (0, 1)
        ]

        assert set(produced(caller, sent, topic).values()) == {Code.INVALID_PRODUCER_ID_MAPPING}
        assert ends(caller, topic) == [0, 0, 0]

    @pytest.mark.parametrize(
        ("other", "code"),
        [
            (lambda pid: idempotent(pid + 1), Code.NONE),
            (lambda _: one(), Code.NONE),
            (lambda pid: patched(idempotent(pid + 1, transactional=True), magic=0), Code.INVALID_RECORD),
        ],
        ids=["idempotent", "plain", "unreadable"],
    )
    def test_a_plain_batch_is_not_counted_as_a_second_producer(self, caller, topic, own, other, code):
        first = idempotent(own.producer_id, own.epoch, transactional=True)

        codes = produced(caller, [(topic, 0, first), (topic, 1, other(own.producer_id))], topic)

        assert codes == {(topic, 0): Code.NONE, (topic, 1): code}

    def test_a_transactional_batch_without_an_id_refuses_the_whole_request(self, caller, topic):
        """In any order of batches."""
        sent = [(topic, 1, one()), (topic, 0, idempotent(1_000_001, transactional=True)), ("nowhere", 0, one())]

        codes = produced(caller, sent)

        assert codes == {(name, index): REFUSED_ID for name, index, _ in sent}
        assert ends(caller, topic) == [0, 0, 0]

    @pytest.mark.parametrize(
        ("wrong", "codes"),
        [
            (one(magic=127), [Code.CORRUPT_MESSAGE] * 2),
            (one(length=-1), [Code.CORRUPT_MESSAGE] * 2),
            (one(magic=0), [Code.NONE, Code.INVALID_RECORD]),
            (one()[:20], [Code.NONE, Code.INVALID_RECORD]),
            (one(crc=1), [Code.NONE, Code.CORRUPT_MESSAGE]),
            (batch(b"\xff" * 20), [Code.NONE, Code.UNKNOWN_SERVER_ERROR]),
            (one() + bytes(90), [Code.NONE, Code.CORRUPT_MESSAGE]),
        ],
        ids=["magic", "length", "old magic", "cut off", "checksum", "records", "trailing bytes"],
    )
    def test_invalid_batch_bytes_fail_a_request_only_where_kafka_fails(self, caller, topic, wrong, codes):
        found = produced(caller, [(topic, 0, one()), (topic, 1, wrong)])

        assert [found[topic, 0], found[topic, 1]] == codes

    def test_a_partition_produced_twice_in_one_request_is_answered_once(self, caller, topic):
        assert produced(caller, [(topic, 0, one()), (topic, 0, one(crc=1))]) == {(topic, 0): Code.CORRUPT_MESSAGE}
        assert produced(caller, [(topic, 0, one(crc=1)), (topic, 0, one())]) == {(topic, 0): Code.NONE}
        assert ends(caller, topic) == [1, 0, 0]

    def test_partition_errors_take_precedence_over_invalid_acks(self, caller, topic):
        sent = [(topic, 0, one()), (topic, 1, one(crc=1)), (topic, 2, b""), ("nowhere", 0, one())]

        assert list(produced(caller, sent, acks=5).values()).count(Code.INVALID_REQUIRED_ACKS) == 2
        assert produced(caller, sent, acks=5)[topic, 2] is Code.INVALID_RECORD
        assert produced(caller, sent, acks=5)["nowhere", 0] is Code.UNKNOWN_TOPIC_OR_PARTITION

    @pytest.mark.parametrize("name", [OFFSETS, TRANSACTIONS])
    def test_client_writes_to_internal_topics_are_rejected(self, caller, topic, name):
        """Coordinators trust every record in these topics."""
        mine, refused = (topic, 0), Code.INVALID_TOPIC_EXCEPTION
        batches = [one(), one(crc=1), batch(record(key=b"\6\0\0\0")), idempotent(1_000_001)]

        for sent in batches:
            assert produced(caller, [(name, 0, sent), (*mine, one())]) == {(name, 0): refused, mine: Code.NONE}
        assert produced(caller, [(name, 99_999, one())]) == {(name, 99_999): Code.UNKNOWN_TOPIC_OR_PARTITION}
        assert produced(caller, [(name, 0, one())], acks=5) == {(name, 0): Code.INVALID_REQUIRED_ACKS}

    def test_transactional_client_writes_to_internal_topics_are_rejected(self, caller, topic, own):
        """A transaction of a client must not be a way around the refusal."""
        sent = [(OFFSETS, 0, idempotent(own.producer_id, own.epoch, transactional=True))]

        for version in (11, 12):
            assert set(produced(caller, sent, topic, version=version).values()) <= {
                Code.INVALID_TOPIC_EXCEPTION,
                Code.TRANSACTION_ABORTABLE,
                Code.INVALID_TXN_STATE,  # Kafka's word if it asks for an older client at the same moment
            }
        for name in (OFFSETS, TRANSACTIONS):
            assert caller.add(topic, own, TopicPartition(name, 0)).code is Code.TOPIC_AUTHORIZATION_FAILED

    @pytest.mark.parametrize(
        ("sent", "closed"),
        [
            ([one()], False),
            ([one(crc=1)], True),
            ([one(magic=127)], True),
            ([one(), one()[:20]], True),
            ([idempotent(1_000_001, transactional=True)], True),
        ],
        ids=["good", "wrong checksum", "no batch", "good and bad", "transactional"],
    )
    def test_an_error_without_acks_closes_the_connection(self, caller, cluster, topic, sent, closed):
        """acks=0: otherwise the producer would keep sending records that are lost."""
        raw = Raw(cluster.bootstrap_servers)
        raw.send(0, 11, **producing([(topic, number, data) for number, data in enumerate(sent)], acks=0))
        raw.expect_nothing()
        try:
            raw.ask(18, 3, client_software_name="a", client_software_version="1")
        except (AssertionError, OSError):
            answered = False
        else:
            answered = True
        raw.close()

        assert answered is not closed


class TestFetch:
    @pytest.mark.parametrize("session", [0, 77])
    def test_only_fetch_session_epochs_0_and_minus_1_need_no_session(self, caller, topic, session):
        """KIP-227."""
        for epoch, code in ((-2, 70), (-1, 0), (0, 0), (1, 70), (5, 70)):
            answer = caller.ask(1, 12, **fetching(wanted((topic, 0, 0)), session_id=session, session_epoch=epoch))
            assert answer["error_code"] == code
            assert fetched(answer) == ([] if code else [(0, Code.NONE, 0)])

    def test_a_partition_fetched_repeatedly_in_one_request_is_read_once(self, caller, topic):
        produced(caller, [(topic, 0, one()), (topic, 1, one())])

        named = [(topic, 0, 0), (topic, 1, 99), (topic, 0, 99), (topic, 1, 0)] * 20

        answer = caller.ask(1, 12, **fetching(wanted(*named)))

        assert fetched(answer) == [(0, Code.OFFSET_OUT_OF_RANGE, 0), (1, Code.NONE, len(one()))]

    def test_one_answer_stays_below_the_brokers_limit(self, caller, topic):
        """fetch.max.bytes."""
        large = encode_batch(None, [bytes(1_000_000)], NOW)
        for _ in range(30):
            assert set(produced(caller, [(topic, number, large) for number in range(3)]).values()) == {Code.NONE}
        every = [(topic, number, 0) for number in range(3)]

        answer = caller.ask(1, 12, **fetching(wanted(*every, limit=2**31 - 1), max_bytes=2**31 - 1))

        sizes = [size for _, _, size in fetched(answer)]
        assert sizes[0] == 30 * len(large)
        assert LARGEST - len(large) < sum(sizes) <= LARGEST
        assert sizes[2] == 0

    def test_only_the_first_partition_may_exceed_the_fetch_limit(self, caller, topic):
        """KIP-74."""
        produced(caller, [(topic, number, one()) for number in range(3)])
        every, size = [(topic, number, 0) for number in range(3)], len(one())

        def sizes(limit: int, **how: int) -> list[int]:
            return [size for _, _, size in fetched(caller.ask(1, 12, **fetching(wanted(*every, limit=limit), **how)))]

        assert sizes(size) == [size] * 3
        assert sizes(0) == [size, 0, 0]
        assert sizes(size, max_bytes=0) == [size, 0, 0]
        assert sizes(size, max_bytes=2 * size) == [size, size, 0]

    def test_a_fetch_waits_for_at_most_max_bytes(self, caller, topic):
        """min_bytes above max_bytes."""
        produced(caller, [(topic, 0, one())])

        asking = fetching(wanted((topic, 0, 0)), min_bytes=1 << 30, max_bytes=10, max_wait=LONG)
        answer = caller.ask(1, 12, **asking)

        assert fetched(answer) == [(0, Code.NONE, len(one()))]

    @pytest.mark.parametrize("version", [12, 16], ids=["by name", "by id"])
    @pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and created again"])
    def test_a_waiting_fetch_ends_when_the_topic_is_deleted(self, caller, cluster, topic, version, again):
        """A reader must not wait for a topic that is gone, nor take its successor for it."""
        other = f"{topic}-other"
        caller.create(other, 1)
        asking = fetching(wanted((topic, 0, 0), (other, 0, 0)), min_bytes=1, max_wait=LONG)
        for each in asking["topics"]:
            each.topic_id = id_of(caller, each.topic)
        raw = Raw(cluster.bootstrap_servers)
        raw.send(1, version, **asking)
        caller.runtime.sleep(1.0)  # nobody tells that it waits now

        [deleted] = caller.ask(20, 6, topics=[Fields(name=topic, topic_id=None)], timeout=milliseconds(30))["responses"]
        assert deleted["error_code"] == Code.NONE
        if again:
            caller.create(topic, 3)

        assert fetched(raw.receive()) == [(0, Code.UNKNOWN_TOPIC_OR_PARTITION, 0), (0, Code.NONE, 0)]
        raw.close()


class TestMarkers:
    def test_a_marker_into_the_transaction_log_is_accepted(self, caller):
        """KIP-664: such a marker has no effect, as the restart below shows."""
        other_producer = ProducerIdAndEpoch(1_000_005, 0)

        assert caller.mark(other_producer, TopicPartition(TRANSACTIONS, 0), 0).code is Code.NONE
        assert (
            caller.mark(other_producer, TopicPartition(TRANSACTIONS, 99_999), 0).code is Code.UNKNOWN_TOPIC_OR_PARTITION
        )
