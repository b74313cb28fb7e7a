"""The contract of every backend."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eosfw.capabilities import Capabilities
from eosfw.config.translation import Client
from eosfw.errors import (
    ConfigError,
    DamagedDataError,
    IllegalStateError,
    ReadStalledError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from eosfw.hanging_transactions import find_hanging
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, NewTopic
from eosfw.records import Headers, OffsetRange, ProducerBatch, ProducerRecord, RecordMetadata
from pytest_eos.contracts.backends.administration import AdministrationContract
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, record
from pytest_eos.contracts.backends.offsets import OffsetsContract
from pytest_eos.contracts.backends.shared_transactions import SharedTransactionContract
from pytest_eos.contracts.backends.topics import DeletionContract, TopicsContract
from pytest_eos.contracts.backends.transactions import TransactionContract, needs_transactions

# The partitions that Java's partitioner gives to keys, of seven partitions (murmur2, as in Kafka's own tests).
_PLACES = {b"21": 3, b"foobar": 0, b"a-little-bit-long-string": 1, b"abc": 4}


_CONTRADICTIONS = (
    {"acks": "1"},
    {"acks": "0"},
    {"retries": "0"},
    {"max.in.flight.requests.per.connection": "6"},
)


def _named(properties: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in properties.items())


class ProducerPropertiesContract(BackendUnderTestFixtures):
    """Part of BackendContract."""

    @pytest.mark.eos_needs("transactions")
    @pytest.mark.parametrize("properties", [*_CONTRADICTIONS, {"enable.idempotence": "false"}], ids=_named)
    def test_properties_that_contradict_idempotence_are_refused(
        self, lab: BackendHarness, properties: dict[str, str]
    ) -> None:
        """PRD-10: the error names the property before the client connects; it is not replaced silently.

        Transactions need idempotence, and a producer without them may ask for it.
        """
        (name,) = properties
        with pytest.raises(ConfigError, match=name):
            lab.backend.producer(lab.name(), properties=properties)

        if name != "enable.idempotence":
            with pytest.raises(ConfigError, match=name):
                lab.backend.producer(None, properties={"enable.idempotence": "true", **properties})

    @pytest.mark.parametrize("properties", [*_CONTRADICTIONS, {"enable.idempotence": "true"}], ids=_named)
    def test_a_plain_producer_accepts_properties_weaker_than_idempotence(
        self, lab: BackendHarness, properties: dict[str, str]
    ) -> None:
        """PRD-10, KIP-679: idempotence was not set by the user, so weaker properties do not contradict it."""
        topic = lab.topic()
        producer = lab.backend.producer(None, properties=properties)

        producer.send(record(topic, b"v"))
        producer.flush(WAIT)

        assert lab.until(lambda: lab.values(topic), lambda values: values == [b"v"])

    def test_an_empty_transactional_id_is_refused(self, lab: BackendHarness) -> None:
        """PRD-10: an empty text is neither an id nor None."""
        with pytest.raises(ConfigError, match=r"transactional\.id"):
            lab.backend.producer("")


class BackendContract(
    TransactionContract,
    OffsetsContract,
    ProducerPropertiesContract,
    TopicsContract,
    DeletionContract,
    AdministrationContract,
    SharedTransactionContract,
):
    """Inherit it, define the fixture `backend`; `fencer` is the installed one of the backend's name."""

    def test_a_backend_names_itself_and_says_what_it_can(self, lab: BackendHarness) -> None:
        """A backend is chosen by its name; its capabilities choose the tests."""
        assert isinstance(lab.backend, Backend)
        assert lab.backend.name
        assert isinstance(lab.backend.capabilities, Capabilities)

    @pytest.mark.parametrize("client", list(Client), ids=lambda client: client.name.lower())
    def test_an_unknown_client_property_is_reported_before_the_client_is_made(
        self, lab: BackendHarness, client: Client
    ) -> None:
        """CFG-08: `problems` names the property, so that a worker can refuse it before it replaces a task."""
        problems = lab.backend.problems({"client.id": "me", "surely.unknown": "x"}, client)

        assert [problem.where for problem in problems] == ["surely.unknown"]

    @pytest.mark.eos_needs("batch_headers")
    def test_a_batch_carries_headers(self, lab: BackendHarness) -> None:
        """Capability `batch_headers`: each record of a batch has headers of its own."""
        topic = lab.topic()
        headers = [(("h", b"1"),), (), (("h", None), ("g", b""))]
        producer = lab.producer()
        producer.begin_transaction()
        producer.send_batch(ProducerBatch(topic, [b"a", b"b", b"c"], partition=0, headers=headers))
        producer.commit_transaction(WAIT)

        batches = lab.backend.reader(COMMITTED, headers=True).read(lab.ranges(topic, UNCOMMITTED), WAIT)

        assert [own for batch in batches for own in batch.headers or ()] == headers

    @pytest.mark.eos_needs("describe_transactions")
    def test_the_transaction_that_blocks_a_partition_is_named(self, lab: BackendHarness) -> None:
        """KIP-664, COR-18, capability `describe_transactions`: so that an operator knows whom to fence.

        It is open, not hanging: its coordinator will end it, whatever its age.
        """
        topic = lab.topic()
        lab.write(topic, b"before")
        partitions = [TopicPartition(topic, 0)]
        assert list(lab.admin.open_transactions(partitions)) == []
        holder = lab.open_transaction(topic, b"open")

        (found,) = lab.admin.open_transactions(partitions)

        assert (found.transactional_id, found.first_offset) == (holder.transactional_id, 1)
        assert find_hanging(lab.admin, partitions, lab.runtime.wall() + WAIT, older_than=0.0) == []

    def test_a_producer_without_transactional_id_writes_at_once(self, lab: BackendHarness) -> None:
        """PRD-02: it has no transactions."""
        topic = lab.topic()
        lab.write(topic, b"plain")

        assert lab.values(topic) == [b"plain"]
        with pytest.raises(IllegalStateError):
            lab.backend.producer(None).begin_transaction()

    @needs_transactions
    def test_keyed_records_lie_where_javas_partitioner_puts_them(self, lab: BackendHarness) -> None:
        """Java's partitioner everywhere: equal keys meet in equal partitions, whichever language wrote them."""
        topic = lab.topic(partitions=7)
        producer = lab.producer()
        producer.begin_transaction()
        for key in _PLACES:
            producer.send(record(topic, b"single", partition=None, key=key))
        producer.send_batch(ProducerBatch(topic, [b"batch"] * len(_PLACES), keys=list(_PLACES)))
        producer.commit_transaction(WAIT)

        rows = lab.rows(topic)

        assert {row.key: row.partition for row in rows} == _PLACES
        assert len(rows) == 2 * len(_PLACES)

    @needs_transactions
    @pytest.mark.parametrize("headers", [None, [(("h", b"1"),), (), ()]], ids=["plain", "headers"])
    def test_delivery_callbacks_of_a_batch_get_partition_and_offset_of_each_record(
        self, lab: BackendHarness, headers: list[Headers] | None
    ) -> None:
        """TXN-08: by its index in the batch, whatever partition its key leads to, before the commit returns."""
        topic = lab.topic(partitions=7)
        values, keys = [b"a", b"b", b"c"], list(_PLACES)[:3]
        heard: dict[bytes, RecordMetadata | None] = {}
        producer = lab.producer()
        producer.begin_transaction()
        producer.send_batch(
            ProducerBatch(topic, values, keys=keys, headers=headers),
            lambda at, metadata, _: heard.update({values[at]: metadata}),
        )
        producer.send(record(topic, b"single"), lambda metadata, _: heard.update({b"single": metadata}))
        producer.commit_transaction(WAIT)

        rows = lab.rows(topic)
        assert heard == {row.value: RecordMetadata(topic, row.partition, row.offset) for row in rows}
        assert len(rows) == len(values) + 1

    @needs_transactions
    def test_a_read_blocked_by_an_open_transaction_reports_its_position(self, lab: BackendHarness) -> None:
        """OFF-02: a read is neither cut short nor does it wait without end."""
        topic = lab.topic()
        lab.write(topic, b"before")
        assert lab.visible(topic) == [b"before"]  # so that the reader is connected, however busy the machine
        lab.open_transaction(topic, b"open")

        with pytest.raises(ReadStalledError, match=topic):
            lab.read({TopicPartition(topic, 0): OffsetRange(1, 2)}, stall_timeout=0.2)

    def test_offsets_missing_from_the_log_raise_a_damage_error(self, lab: BackendHarness) -> None:
        """CON-05: skipping them without an error would lose records."""
        topic = lab.topic()
        lab.write(topic, b"only")

        with pytest.raises(DamagedDataError, match=topic):
            lab.read({TopicPartition(topic, 0): OffsetRange(5, 9)}, UNCOMMITTED, stall_timeout=10.0)

    def test_a_second_close_has_no_effect(self, lab: BackendHarness) -> None:
        """Common rules of the protocols."""
        for made in (lab.backend.admin(), lab.backend.reader(COMMITTED), lab.backend.producer(lab.name())):
            made.close()
            made.close()

    def test_a_misspelt_property_is_refused_with_the_nearest_name(self, lab: BackendHarness) -> None:
        """CFG-05: before the backend connects."""
        with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
            type(lab.backend).connect({"bootstrap.server": "127.0.0.1:1"}, lab.runtime)

    def test_every_part_of_a_record_comes_back_as_it_was_sent(self, lab: BackendHarness) -> None:
        """Null is not empty; headers keep their order and may repeat. Batches are written and read as columns."""
        topic = lab.topic()
        headers = (("h", b"1"), ("h", None), ("g", b""))
        sent = [
            ProducerRecord(topic, b"v", b"k", 0, 1_700_000_000_123, headers),
            ProducerRecord(topic, None, b"k", 0, 1_700_000_000_124),
            ProducerRecord(topic, b"", b"", 0, 1_700_000_000_125),
            ProducerRecord(topic, b"v", None, 0, 1_700_000_000_126),
        ]
        producer = lab.producer()
        producer.begin_transaction()
        for one in sent:
            producer.send(one)
        producer.send_batch(ProducerBatch(topic, [b"a", None, b""], [b"k", b"k", None], 0, [5, 6, 7]))
        producer.send_batch(ProducerBatch(topic, [b"b", None, b""], [None, b"k", b""], 0))
        producer.send_batch(ProducerBatch(topic, [], None, 0))
        producer.commit_transaction(WAIT)

        batches = list(lab.backend.reader(COMMITTED, headers=True).read(lab.ranges(topic, UNCOMMITTED), WAIT))

        keys = [key for each in batches for key in each.keys]
        values = [value for each in batches for value in each.values]
        times = [time for each in batches for time in each.timestamps]
        assert keys == [b"k", b"k", b"", None, b"k", b"k", None, None, b"k", b""]
        assert values == [b"v", None, b"", b"v", b"a", None, b"", b"b", None, b""]
        assert times[:7] == [*(one.timestamp for one in sent), 5, 6, 7]
        assert [own for each in batches for own in each.headers or ()] == [headers, *[()] * 9]

    def test_topics_are_created_described_and_counted(self, lab: BackendHarness) -> None:
        """Admin: a topic can be written to as soon as `create_topics` returns."""
        name = lab.name()
        lab.admin.create_topics([NewTopic(name, 3, config={"cleanup.policy": "compact"})])
        lab.admin.create_topics([NewTopic(other := lab.name(), replication_factor=-1)])

        assert lab.admin.partitions([other]) == {other: 1}, "a replication factor of -1 is the cluster's own"
        assert lab.admin.partitions([name, lab.name()]) == {name: 3}
        assert name in lab.admin.partitions()
        assert lab.admin.topic_config(name)["cleanup.policy"] == "compact"
        assert lab.ranges(name, UNCOMMITTED) == {TopicPartition(name, number): OffsetRange(0, 0) for number in range(3)}

    def test_existing_and_invalid_topics_raise_different_errors(self, lab: BackendHarness) -> None:
        """Admin: each error says what to do next."""
        topic = lab.topic()

        with pytest.raises(TopicExistsError, match=topic):
            lab.admin.create_topics([NewTopic(topic)])
        with pytest.raises(ConfigError, match=r"no\.such\.property"):
            lab.admin.create_topics([NewTopic(lab.name(), config={"no.such.property": "1"})])
        with pytest.raises(ConfigError):
            lab.admin.create_topics([NewTopic(lab.name(), replication_factor=1000)])
        with pytest.raises(ConfigError):
            lab.admin.create_topics([NewTopic("no/name")])
        with pytest.raises(UnknownTopicOrPartitionError):
            lab.admin.end_offsets([TopicPartition(lab.name(), 0)], UNCOMMITTED)

    def test_a_read_given_up_half_way_leaves_the_reader_usable(self, lab: BackendHarness) -> None:
        """LogReader: any number of reads, of any topic, one at a time; none need be read to its end."""
        topic, other = lab.topic(partitions=2), lab.topic()
        for partition in range(2):
            lab.write(topic, b"v", partition=partition)
        lab.write(other, b"w")
        reader = lab.reader(COMMITTED)

        next(iter(reader.read(lab.ranges(topic, COMMITTED), WAIT)))

        assert (lab.values(topic), lab.values(other), lab.values(topic)) == ([b"v"] * 2, [b"w"], [b"v"] * 2)
