"""The contract of every isolation reader: it returns the records of its level, and gaps for all other offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from eosfw.data import is_arrow
from eosfw.errors import ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.protocols import ArrowIsolationReader, Backend, Gap, IsolationReader
from eosfw.records import LogBatch, OffsetRange
from pytest_eos.contracts.backends.fixtures import BackendFixtures
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness
from pytest_eos.environment.clusters.cluster import runtime

_STALL = 0.5
"""Seconds without progress after which a read must raise."""


class IsolationReaderContract(BackendFixtures):
    """Inherit it, define the fixture `reader_class`; the `name` of the class says which level it has.

    `backend` is the one of `--eos-backend`, unless you define it.
    """

    @pytest.fixture
    def reader_class(self) -> type[IsolationReader]:
        """The reader under test."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `reader_class` that returns your reader")

    @pytest.fixture
    def reader(self, reader_class: type[IsolationReader], backend: Backend) -> Iterator[IsolationReader]:
        """One reader over the backend."""
        reader = reader_class.over(backend, runtime())
        yield reader
        reader.close()

    @pytest.fixture
    def committed_only(self, reader_class: type[IsolationReader]) -> bool:
        """Whether its level hides what is not committed."""
        return reader_class.name == "read_committed"

    def test_committed_records_are_shown_in_order(self, lab: BackendHarness, reader: IsolationReader) -> None:
        """CON-01: at every level; a reader reads again what was added."""
        topic = lab.topic()
        lab.write(topic, b"a", b"b")
        assert _values(reader, topic) == [b"a", b"b"]

        _transaction(lab, topic, b"c", commit=True)

        assert _values(reader, topic) == [b"a", b"b", b"c"]

    def test_aborted_records_are_hidden_from_readers_of_committed_ones(
        self, lab: BackendHarness, reader: IsolationReader, *, committed_only: bool
    ) -> None:
        """CON-02: aborted records are dropped, wherever they are in the log."""
        topic = lab.topic()
        _transaction(lab, topic, b"aborted", commit=False)
        lab.write(topic, b"kept")
        _transaction(lab, topic, b"aborted too", commit=False)

        expected = [b"kept"] if committed_only else [b"aborted", b"kept", b"aborted too"]
        assert _values(reader, topic) == expected, "an aborted record is shown, or a committed one is not"

    def test_records_behind_an_open_transaction_are_not_visible(
        self, lab: BackendHarness, reader: IsolationReader, *, committed_only: bool
    ) -> None:
        """CON-01: a read ends at the last stable offset, even if later records are committed."""
        topic = _held_back(lab)

        expected = [b"before"] if committed_only else [b"before", b"open", b"behind"]
        assert _values(reader, topic) == expected, "it shows too much, beyond the last stable offset, or too little"

    def test_a_read_that_an_open_transaction_holds_up_is_never_short(
        self, lab: BackendHarness, reader: IsolationReader, *, committed_only: bool
    ) -> None:
        """CON-01: the transaction may still commit, so its offsets are neither the end of a read nor a gap."""
        topic = _held_back(lab)
        one = TopicPartition(topic, 0)
        _values(reader, topic)  # so that it is connected, however busy the machine

        offsets, stalled = _until_stalled(reader.read({one: OffsetRange(0, 3)}, _STALL if committed_only else WAIT))

        if not committed_only:
            assert offsets == [0, 1, 2], "a reader that shows what is open leaves some of it out"
            return
        assert 1 not in offsets, "offsets of an open transaction are called a gap, or shown: they may still commit"
        assert stalled is not None, "a read ended, without a word, at an open transaction: it must raise"
        assert topic in str(stalled), "the error does not name the topic that is held up"

    def test_every_offset_is_a_record_or_a_reported_gap(self, lab: BackendHarness, reader: IsolationReader) -> None:
        """Records and gaps together are the whole range, without overlap."""
        topic = lab.topic()
        _transaction(lab, topic, b"a", commit=True)
        _transaction(lab, topic, b"b", commit=False)
        lab.write(topic, b"c")
        ((partition, whole),) = reader.bounds([topic]).items()

        offsets = [one for found in reader.read({partition: whole}, WAIT) for one in _offsets(found)]

        due = list(range(whole.start, whole.end))
        assert sorted(offsets) == due, "some offsets are neither shown nor accounted for, or both"

    def test_arrow_is_given_what_a_read_shows(self, lab: BackendHarness, reader: IsolationReader) -> None:
        """What a reader leaves out or masks, it leaves out or masks for Spark's tasks as well."""
        if not isinstance(reader, ArrowIsolationReader):
            pytest.skip("it has no `read_arrow`, so Spark's tasks call `read`")
        topic = lab.topic()
        _transaction(lab, topic, b"a", commit=True)
        _transaction(lab, topic, b"b", commit=False)
        lab.write(topic, b"c")
        whole = reader.bounds([topic])

        shown, given = (_records(read(whole, WAIT)) for read in (reader.read, reader.read_arrow))

        assert given == shown, "`read_arrow` gives not what `read` shows: Spark would be shown other records"

    def test_bounds_cover_every_partition(self, lab: BackendHarness, reader: IsolationReader) -> None:
        """An empty partition has an empty range."""
        topic = lab.topic(partitions=2)
        lab.write(topic, b"a", b"b", partition=1)

        bounds = reader.bounds([topic])

        ends = {one.partition: (offsets.start, offsets.end) for one, offsets in bounds.items()}
        assert ends == {0: (0, 0), 1: (0, 2)}
        assert set(bounds) == {TopicPartition(topic, 0), TopicPartition(topic, 1)}


def _held_back(lab: BackendHarness) -> str:
    """A topic whose second of three records is in an open transaction."""
    topic = lab.topic()
    lab.write(topic, b"before")
    lab.open_transaction(topic, b"open")
    lab.write(topic, b"behind")
    return topic


def _transaction(lab: BackendHarness, topic: str, value: bytes, *, commit: bool) -> None:
    producer = lab.open_transaction(topic, value)
    if commit:
        producer.commit_transaction(WAIT)
    else:
        producer.abort_transaction(WAIT)
    producer.close()
    lab.rows(topic)  # waits for the control record, which Kafka writes after its answer (COR-09)


def _values(reader: IsolationReader, topic: str) -> list[bytes | None]:
    found = reader.read(reader.bounds([topic]), WAIT)
    return [value for batch in found if isinstance(batch, LogBatch) for value in batch.values]


def _records(found: Iterator[LogBatch | Gap]) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each record."""
    batches = [batch for batch in found if isinstance(batch, LogBatch)]
    columns = ((batch.offsets, _listed(batch.keys), _listed(batch.values)) for batch in batches)
    return [record for each in columns for record in zip(*each, strict=True)]


def _listed(column: Any) -> list[bytes | None]:
    """A column as a list, also one of pyarrow."""
    return column.to_pylist() if is_arrow(column) else list(column)


def _until_stalled(found: Iterator[LogBatch | Gap]) -> tuple[list[int], ReadStalledError | None]:
    """The offsets that a read returns, and the error that ended it, if any."""
    offsets: list[int] = []
    try:
        for one in found:
            offsets += _offsets(one)
    except ReadStalledError as why:
        return offsets, why
    return offsets, None


def _offsets(found: LogBatch | Gap) -> list[int]:
    if isinstance(found, Gap):
        return list(range(found.offsets.start, found.offsets.end))
    return list(found.offsets)
