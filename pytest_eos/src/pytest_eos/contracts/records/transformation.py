"""The contract of a transformation: the same record for the same record, in batches as one by one, changing none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from eosfw.closeables import Closeable
from eosfw.data import SchemaAndValue, fitted
from eosfw.protocols import BatchTransformation, Transformation
from eosfw.records import SourceRecord
from pytest_eos.contracts.records.batches import batches_of, copied, copies, records_of
from pytest_eos.contracts.records.outcomes import (
    Refused,
    close_repeatedly,
    made,
    outcome,
    refuse_shown_record,
    refuse_wrong_properties,
)
from pytest_eos.contracts.records.samples import RECORDS

_KEY = "transforms.contract"


@dataclass(frozen=True, slots=True)
class TransformedRecords:
    """A transformation, and what it is given."""

    transformation: type[Transformation]
    """A class that is offered by `eosfw_transforms`."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What a connector would write as `transforms.ALIAS.*`."""
    records: Sequence[SourceRecord] = RECORDS
    """It takes one of them at least, and may refuse the others. Records of one kind in a row are tried as a batch."""
    wrong_properties: Sequence[Mapping[str, str]] = ()
    """Each over `properties` must be refused; one that the transformation does not have is tried anyway."""


class TransformationContract:
    """Inherit, and define the fixture `transformed`, which returns `TransformedRecords`."""

    @pytest.fixture
    def transformed(self) -> TransformedRecords:
        """The transformation under test, and what it is given."""
        raise pytest.UsageError(
            f"{type(self).__name__}: define a fixture `transformed` that returns TransformedRecords"
        )

    @pytest.fixture
    def transformation(self, transformed: TransformedRecords) -> Iterator[Transformation]:
        """A transformation that was made and configured as a worker does it."""
        transformation = made(transformed.transformation, _KEY, transformed.properties)
        yield transformation
        if isinstance(transformation, Closeable):
            transformation.close()

    def test_a_transformation_names_itself(self, transformation: Transformation) -> None:
        """PLG-17: it is chosen by its name, in `transforms.ALIAS.type`."""
        assert isinstance(transformation, Transformation)
        assert transformation.name

    def test_wrong_properties_are_refused_with_one_sentence(self, transformed: TransformedRecords) -> None:
        """PLG-17: before a task starts, with ConfigError."""
        refuse_wrong_properties(transformed.transformation, _KEY, transformed.properties, transformed.wrong_properties)

    def test_records_are_changed_dropped_or_refused_without_being_shown(
        self, transformation: Transformation, transformed: TransformedRecords
    ) -> None:
        """PLG-17: with schemas and without, tombstones too; whoever asks the REST interface is shown the message."""
        taken = 0
        for record in copies(transformed.records):
            found = outcome(transformation.apply, record)
            if isinstance(found, Refused):
                refuse_shown_record(found.message, record)
                continue
            assert found is None or isinstance(found, SourceRecord), f"a record became a {type(found).__name__}"
            taken += 1
        assert taken, "it takes none of the records: let the fixture give some that it takes"

    def test_a_record_keeps_its_place_in_the_source(
        self, transformation: Transformation, transformed: TransformedRecords
    ) -> None:
        """PLG-17: make the new one with `dataclasses.replace`; its source offset is what commits."""
        for record in copies(transformed.records):
            found = outcome(transformation.apply, record)
            if isinstance(found, SourceRecord):
                same = (found.source_partition, found.source_offset) == (record.source_partition, record.source_offset)
                assert same, "the record has another source partition or offset than before"

    def test_a_changed_value_fits_its_schema(
        self, transformation: Transformation, transformed: TransformedRecords
    ) -> None:
        """PLG-17: whoever changes one changes the other; converters take values that fit alone."""
        for record in copies(transformed.records):
            found = outcome(transformation.apply, record)
            if isinstance(found, SourceRecord):
                _refuse_unfit("key", SchemaAndValue(found.key_schema, found.key))
                _refuse_unfit("value", SchemaAndValue(found.value_schema, found.value))

    def test_the_same_record_becomes_the_same_record(
        self, transformation: Transformation, transformed: TransformedRecords
    ) -> None:
        """PLG-17: verification transforms records again, and a task that starts over has another instance."""
        other = made(transformed.transformation, _KEY, transformed.properties)
        for record in copies(transformed.records):
            first, again, by_other = (outcome(one.apply, record) for one in (transformation, transformation, other))
            assert first == again, "the same record became another the second time"
            assert first == by_other, "the same record became another by another instance of the same properties"

    def test_a_transformation_changes_no_record_that_it_is_given(
        self, transformation: Transformation, transformed: TransformedRecords
    ) -> None:
        """PLG-17: `commit_record` and verification see the same objects, mappings inside them too."""
        for record in copies(transformed.records):
            before = copied(record)
            outcome(transformation.apply, record)
            assert record == before, "it changed the record that it was given"

    def test_a_batch_becomes_what_its_records_become(
        self, transformation: Transformation, transformed: TransformedRecords
    ) -> None:
        """PLG-17: as lists, as columns, as columns of pyarrow; whatever it raises has each record changed by itself."""
        if not isinstance(transformation, BatchTransformation):
            return
        used = 0
        for records, batch in batches_of(transformed.records):
            before = records_of(batch)
            try:
                found = transformation.apply_batch(batch)
            except Exception:  # noqa: BLE001, S112 each record is changed by itself then
                continue
            one_by_one = [outcome(transformation.apply, one) for one in records]
            wanted = [None if one is None or isinstance(one, Refused) else _sent(one) for one in one_by_one]
            made_of_batch = [None] * len(records) if found is None else list(map(_sent, records_of(found)))
            assert made_of_batch == wanted, "a batch became other records than each by itself"
            assert records_of(batch) == before, "it changed the batch that it was given"
            used += 1
        assert used, "`apply_batch` takes none of the batches, so it only costs time"

    def test_a_transformation_may_be_closed_repeatedly(self, transformation: Transformation) -> None:
        """PLG-17: if it can be closed."""
        close_repeatedly(transformation)


def _refuse_unfit(part: str, given: SchemaAndValue) -> None:
    if given.schema is None:
        return
    try:
        same = fitted(given.schema, given.value) == given.value
    except ValueError as why:
        pytest.fail(f"the {part} does not fit its schema: {why}")
    assert same, f"the {part} is not in the form that `eosfw.data.fitted` gives"


def _sent(record: SourceRecord) -> SourceRecord:
    """What of a record is sent: a batch knows no place in the source."""
    return SourceRecord(
        record.topic,
        record.value,
        record.key,
        partition=record.partition,
        timestamp=record.timestamp,
        headers=record.headers,
        key_schema=record.key_schema,
        value_schema=record.value_schema,
    )
