"""The contract of every offset store: it turns source offsets into records, and back, without loss."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from eosfw.errors import DamagedDataError, TaskFailedError
from eosfw.protocols import OffsetStore
from eosfw.records import LogBatch, ProducerRecord, SourceOffset, SourcePartition
from pytest_eos.contracts.backends.fixtures import BackendFixtures
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness

_TOPIC = "offsets"
_PARTITIONS: Sequence[SourcePartition] = (
    {},
    {"file": "a.txt"},
    {"file": "ä\u2028\U0001f680.txt", "number": 3},
    {"nothing": None, "yes": True, "share": 0.25},
)
_ALIKE: Sequence[tuple[SourcePartition, SourcePartition, str]] = (
    ({"table": "a"}, {"file": "a"}, "their keys"),
    ({"number": 1}, {"number": "1"}, "the types of their values"),
    ({"flag": True}, {"flag": "true"}, "the types of their values"),
    ({"none": None}, {"none": "null"}, "the types of their values"),
    ({"a": "b,c"}, {"a": "b", "c": ""}, "where a value ends"),
)
"""Pairs of different source partitions that a careless store may confuse."""
_OFFSETS: Sequence[SourceOffset] = (
    {"next": 1},
    {"next": 2**62, "id": "x"},
    {"share": 1e-7, "end": False},
    {"no": None},
)


class OffsetStoreContract(BackendFixtures):
    """Inherit it, define the fixture `store`; `backend` is the one of `--eos-backend`, unless you define it."""

    @pytest.fixture
    def store(self) -> OffsetStore:
        """The store under test."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `store` that returns your OffsetStore")

    def test_a_store_names_itself(self, store: OffsetStore) -> None:
        """A store is chosen by its name."""
        assert isinstance(store, OffsetStore)
        assert store.name

    @pytest.mark.parametrize("partition", _PARTITIONS, ids=str)
    @pytest.mark.parametrize("offset", _OFFSETS, ids=str)
    def test_an_offset_comes_back_as_it_was_given(
        self, store: OffsetStore, partition: SourcePartition, offset: SourceOffset
    ) -> None:
        """OFF-01: with all primitive types."""
        records = store.encode("c", _TOPIC, [(partition, offset)])

        assert store.decode("c", _read(records)) == {store.partition_key(partition): (partition, offset)}

    def test_offsets_are_read_from_every_batch(self, store: OffsetStore) -> None:
        """OFF-02: a topic is read in many batches; a later one replaces or adds offsets."""
        entries = (({"p": 1}, {"o": 1}), ({"p": 2}, {"o": 1}), ({"p": 1}, {"o": 2}), ({"p": 3}, {"o": 1}))
        batches = [batch for each in entries for batch in _read(_one(store, *each))]

        found = {json.dumps(partition): offset for partition, offset in store.decode("c", iter(batches)).values()}

        assert set(found) == {'{"p": 1}', '{"p": 2}', '{"p": 3}'}, "offsets of a later batch were not read"
        assert found['{"p": 1}'] == {"o": 2}, "the offset of an earlier batch was kept, though a later one replaces it"

    def test_one_partition_has_one_key_so_that_compaction_keeps_the_last(self, store: OffsetStore) -> None:
        """OFF-01: also for a tombstone."""
        records = [record for offset in ({"o": 1}, {"o": 2}, None) for record in _one(store, {"p": 1}, offset)]
        keys = {record.key for record in records}

        assert len(keys) == 1
        assert keys != {None}
        assert {record.topic for record in records} == {_TOPIC}, "a record goes to another topic than was named"

    def test_an_offset_can_be_forgotten(self, store: OffsetStore) -> None:
        """OFF-03: None is a tombstone."""
        records = [*_one(store, {"p": 1}, {"o": 1}), *_one(store, {"p": 1}, None)]

        assert records[-1].value is None
        assert store.decode("c", _read(records)) == {}

    def test_connectors_do_not_see_each_other(self, store: OffsetStore) -> None:
        """OFF-01: they share one topic."""
        records = [*_one(store, {"p": 1}, {"o": 1}, "c"), *_one(store, {"p": 1}, {"o": 2}, "other")]

        ((_, offset),) = store.decode("c", _read(records)).values()

        assert offset == {"o": 1}

    @pytest.mark.eos_needs("transactions", "read_committed")
    def test_offsets_come_back_if_and_only_if_their_transaction_was_committed(
        self, store: OffsetStore, lab: BackendHarness
    ) -> None:
        """TXN-02: they are committed or aborted with the records of their transaction."""
        topic = lab.topic(config={"cleanup.policy": "compact"})
        producer = lab.producer()
        for offset, end in ((1, producer.commit_transaction), (2, producer.abort_transaction)):
            producer.begin_transaction()
            for record in store.encode("c", topic, [({"p": 1}, {"o": offset})]):
                producer.send(record)
            producer.flush(WAIT)
            end(WAIT)

        read = lab.reader(COMMITTED).read(lab.ranges(topic, UNCOMMITTED), WAIT)

        assert store.decode("c", read) == {store.partition_key({"p": 1}): ({"p": 1}, {"o": 1})}

    def test_a_foreign_key_is_skipped(self, store: OffsetStore) -> None:
        """Other programs may write to the topic."""
        records = [ProducerRecord(_TOPIC, b"x", key) for key in (None, b"", b"\xff\x00", b"{}", b"[1]")]

        assert store.decode("c", _read([*records, *_one(store, {"p": 1}, {"o": 1})])) != {}

    def test_a_damaged_value_under_an_own_key_names_its_place(self, store: OffsetStore) -> None:
        """Starting from zero would repeat everything."""
        (record,) = _one(store, {"p": 1}, {"o": 1})

        with pytest.raises(DamagedDataError, match=rf"{_TOPIC}.*\b0\b"):
            store.decode("c", _read([ProducerRecord(_TOPIC, b"\xff not an offset", record.key)]))

    def test_an_unserializable_offset_fails_before_any_write(self, store: OffsetStore) -> None:
        """OFF-04: the error names the offset."""
        with pytest.raises(TaskFailedError, match=r"deep|p"):
            store.encode("c", _TOPIC, [({"p": 1}, {"deep": {"not": "primitive"}})])  # type: ignore[dict-item]

    def test_equal_partitions_have_one_record_key(self, store: OffsetStore) -> None:
        """OFF-01: compaction keeps one record for each key; with two keys the older offset could come back."""
        orders: Sequence[SourcePartition] = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        keys = {record.key for partition in orders for record in _one(store, partition, {"o": 1})}

        assert len({store.partition_key(partition) for partition in orders}) == 1, (
            "`partition_key` hangs on the order of a source partition's keys: equal ones get two"
        )
        assert len(keys) == 1, "the record key hangs on the order of a source partition's keys: equal ones get two"

    @pytest.mark.parametrize(("first", "second", "what"), _ALIKE, ids=str)
    def test_other_partitions_have_other_keys(
        self, store: OffsetStore, first: SourcePartition, second: SourcePartition, what: str
    ) -> None:
        """OFF-01: if two partitions share a key, one resumes at the other's offset, which loses or repeats records."""
        assert store.partition_key(first) != store.partition_key(second), (
            f"`partition_key` tells source partitions not apart by {what}: {first} and {second} share one"
        )
        (one,), (other,) = _one(store, first, {"o": 1}), _one(store, second, {"o": 2})
        assert one.key != other.key, (
            f"the record key tells source partitions not apart by {what}: compaction keeps one of {first} and {second}"
        )


def _one(
    store: OffsetStore, partition: SourcePartition, offset: SourceOffset | None, connector: str = "c"
) -> Sequence[ProducerRecord]:
    return store.encode(connector, _TOPIC, [(partition, offset)])


def _read(records: Sequence[ProducerRecord]) -> list[LogBatch]:
    """The records as they would be read back."""
    if not records:
        return []
    keys, values = [record.key for record in records], [record.value for record in records]
    return [LogBatch(_TOPIC, 0, range(len(records)), keys, values, [0] * len(records))]
