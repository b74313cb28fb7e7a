"""The contract of every backend."""

from __future__ import annotations

import pytest

from eosfw.capabilities import Capabilities
from eosfw.config.translation import Client
from eosfw.errors import (
    ClusterUnavailableError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    IllegalStateError,
    ProducerFencedError,
    ReadStalledError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, Fencer, NewTopic
from eosfw.records import Headers, OffsetRange, ProducerBatch, ProducerRecord, RecordMetadata
from pytest_eos.contracts.backends.administration import AdministrationContract
from pytest_eos.contracts.backends.deletion import DeletionContract
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, record
from pytest_eos.contracts.backends.offsets import OffsetsContract
from pytest_eos.contracts.backends.producer_properties import ProducerPropertiesContract
from pytest_eos.contracts.backends.topics import TopicsContract
from pytest_eos.contracts.backends.transactions import TransactionContract, needs_transactions

# The partitions that Java's partitioner gives to keys, of seven partitions (murmur2, as in Kafka's own tests).
_PLACES = {b"21": 3, b"foobar": 0, b"a-little-bit-long-string": 1, b"abc": 4}


class BackendContract(
    TransactionContract,
    OffsetsContract,
    ProducerPropertiesContract,
    TopicsContract,
    DeletionContract,
    AdministrationContract,
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
        """KIP-664, capability `describe_transactions`: so that an operator knows whom to fence."""
        topic = lab.topic()
        lab.write(topic, b"before")
        holder = lab.open_transaction(topic, b"open")

        (found,) = lab.admin.open_transactions([TopicPartition(topic, 0)])

        assert (found.transactional_id, found.first_offset) == (holder.transactional_id, 1)

    def test_an_empty_answer_means_that_no_transaction_is_open(self, lab: BackendHarness) -> None:
        """A backend without the capability `describe_transactions` raises, because an empty answer would be wrong."""
        partitions = [TopicPartition(lab.topic(), 0)]
        if not lab.backend.capabilities.lacking("describe_transactions"):
            assert list(lab.admin.open_transactions(partitions)) == []
            return

        with pytest.raises(EosfwError):
            lab.admin.open_transactions(partitions)

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
    def test_every_delivery_callback_runs_before_the_commit_returns(self, lab: BackendHarness) -> None:
        """TXN-08: with the partition and offset of the record."""
        topic = lab.topic()
        heard: list[int | None] = []
        producer = lab.producer()
        producer.begin_transaction()
        for value in (b"a", b"b", b"c"):
            producer.send(record(topic, value), lambda place, _: heard.append(None if place is None else place.offset))
        producer.commit_transaction(WAIT)

        assert heard == [row.offset for row in lab.rows(topic)]

    @needs_transactions
    @pytest.mark.parametrize("headers", [None, [(("h", b"1"),), (), ()]], ids=["plain", "headers"])
    def test_delivery_callbacks_of_a_batch_get_partition_and_offset_of_each_record(
        self, lab: BackendHarness, headers: list[Headers] | None
    ) -> None:
        """TXN-08: by its index in the batch, whatever partition its key leads to."""
        topic = lab.topic(partitions=7)
        values, keys = [b"a", b"b", b"c"], list(_PLACES)[:3]
        heard: dict[bytes, RecordMetadata | None] = {}
        producer = lab.producer()
        producer.begin_transaction()
        producer.send_batch(
            ProducerBatch(topic, values, keys=keys, headers=headers),
            lambda at, metadata, _: heard.update({values[at]: metadata}),
        )
        producer.commit_transaction(WAIT)

        rows = lab.rows(topic)
        assert heard == {row.value: RecordMetadata(topic, row.partition, row.offset) for row in rows}
        assert len(rows) == len(values)

    @needs_transactions
    def test_a_read_blocked_by_an_open_transaction_reports_its_position(self, lab: BackendHarness) -> None:
        """OFF-02: a read is neither cut short nor does it wait without end."""
        topic = lab.topic()
        lab.open_transaction(topic, b"open")

        with pytest.raises(ReadStalledError, match=topic):
            lab.read({TopicPartition(topic, 0): OffsetRange(0, 1)}, stall_timeout=0.2)

    def test_offsets_missing_from_the_log_raise_a_damage_error(self, lab: BackendHarness) -> None:
        """CON-05: skipping them without an error would lose records."""
        topic = lab.topic()
        lab.write(topic, b"only")

        with pytest.raises(DamagedDataError, match=topic):
            lab.read({TopicPartition(topic, 0): OffsetRange(5, 9)}, UNCOMMITTED, stall_timeout=10.0)

    def test_a_cluster_that_cannot_be_reached_is_named(self, lab: BackendHarness) -> None:
        """CFG-08: every blocking call has a deadline, and the error names the address."""
        properties = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "200"}
        nowhere = type(lab.backend).connect(properties, lab.runtime)
        try:
            with pytest.raises(ClusterUnavailableError, match=r"127\.0\.0\.1:1"):
                nowhere.admin().partitions()
            with pytest.raises(ClusterUnavailableError, match=r"127\.0\.0\.1:1"):
                nowhere.producer("id").init_transactions(0.2)
        finally:
            nowhere.close()

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
        """Null is not empty; headers keep their order and may repeat."""
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
        producer.commit_transaction(WAIT)

        (batch,) = lab.backend.reader(COMMITTED, headers=True).read(lab.ranges(topic, UNCOMMITTED), WAIT)

        assert list(batch.keys) == [b"k", b"k", b"", None]
        assert list(batch.values) == [b"v", None, b"", b"v"]
        assert list(batch.timestamps) == [one.timestamp for one in sent]
        assert batch.headers is not None
        assert list(batch.headers) == [headers, (), (), ()]

    def test_a_batch_with_keys_timestamps_and_nulls_comes_back_whole(self, lab: BackendHarness) -> None:
        """Batches are written and read as columns."""
        topic = lab.topic()
        producer = lab.producer()
        producer.begin_transaction()
        producer.send_batch(ProducerBatch(topic, [b"a", None, b""], [b"k", b"k", None], 0, [5, 6, 7]))
        producer.send_batch(ProducerBatch(topic, [b"b", None, b""], [None, b"k", b""], 0))
        producer.send_batch(ProducerBatch(topic, [], None, 0))
        producer.commit_transaction(WAIT)

        rows = lab.rows(topic)

        assert [row.value for row in rows] == [b"a", None, b"", b"b", None, b""]
        assert [row.key for row in rows] == [b"k", b"k", None, None, b"k", b""]

    def test_topics_are_created_described_and_counted(self, lab: BackendHarness) -> None:
        """Admin: a topic can be written to as soon as `create_topics` returns."""
        name = lab.name()
        lab.admin.create_topics([NewTopic(name, 3, config={"cleanup.policy": "compact"})])

        assert lab.admin.partitions([name, lab.name()]) == {name: 3}
        assert name in lab.admin.partitions()
        assert lab.admin.topic_config(name)["cleanup.policy"] == "compact"
        assert lab.ranges(name, UNCOMMITTED) == {TopicPartition(name, number): OffsetRange(0, 0) for number in range(3)}

    def test_existing_and_invalid_topics_raise_different_errors(self, lab: BackendHarness) -> None:
        """Admin: each error says what to do next."""
        topic = lab.topic()

        with pytest.raises(TopicExistsError, match=topic):
            lab.admin.create_topics([NewTopic(topic)])
        with pytest.raises(ConfigError):
            lab.admin.create_topics([NewTopic(lab.name(), config={"no.such.property": "1"})])
        with pytest.raises(UnknownTopicOrPartitionError):
            lab.admin.end_offsets([TopicPartition(lab.name(), 0)], UNCOMMITTED)

    def test_a_reader_reads_other_topics_and_new_records(self, lab: BackendHarness) -> None:
        """LogReader: one read at a time, any number of reads."""
        first, second = lab.topic(), lab.topic()
        lab.write(first, b"a")
        lab.write(second, b"b")
        assert (lab.values(first), lab.values(second), lab.values(first)) == ([b"a"], [b"b"], [b"a"])

        lab.write(first, b"c")

        assert lab.values(first) == [b"a", b"c"]

    def test_a_read_given_up_half_way_leaves_the_reader_usable(self, lab: BackendHarness) -> None:
        """LogReader: an iterator need not be read to its end."""
        topic = lab.topic(partitions=2)
        for partition in range(2):
            lab.write(topic, b"v", partition=partition)
        reader = lab.reader(COMMITTED)

        next(iter(reader.read(lab.ranges(topic, COMMITTED), WAIT)))

        assert lab.values(topic) == [b"v", b"v"]

    def test_a_fenced_producer_gets_the_fenced_error(self, lab: BackendHarness, fencer: Fencer) -> None:
        """ADM-01."""
        topic = lab.topic()
        victim = lab.producer()
        fencer.fence([str(victim.transactional_id)], WAIT)
        victim.begin_transaction()
        victim.send(record(topic, b"late"))
        with pytest.raises(ProducerFencedError):
            victim.commit_transaction(WAIT)

        assert lab.values(topic) == []
