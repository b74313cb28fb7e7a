"""The contract of a predicate: the same answer for the same record, in batches as one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from eosfw.closeables import Closeable
from eosfw.protocols import BatchPredicate, Predicate
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

_KEY = "predicates.contract"


@dataclass(frozen=True, slots=True)
class ChosenRecords:
    """A predicate, and what it is asked about."""

    predicate: type[Predicate]
    """A class that is offered by `eosfw_predicates`."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What a connector would write as `predicates.ALIAS.*`."""
    records: Sequence[SourceRecord] = RECORDS
    """It answers for one of them at least, and may refuse the others. Records of one kind in a row are tried as a
    batch."""
    wrong_properties: Sequence[Mapping[str, str]] = ()
    """Each over `properties` must be refused; one that the predicate does not have is tried anyway."""


class PredicateContract:
    """Inherit, and define the fixture `chosen`, which returns `ChosenRecords`."""

    @pytest.fixture
    def chosen(self) -> ChosenRecords:
        """The predicate under test, and what it is asked about."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `chosen` that returns ChosenRecords")

    @pytest.fixture
    def predicate(self, chosen: ChosenRecords) -> Iterator[Predicate]:
        """A predicate that was made and configured as a worker does it."""
        predicate = made(chosen.predicate, _KEY, chosen.properties)
        yield predicate
        if isinstance(predicate, Closeable):
            predicate.close()

    def test_a_predicate_names_itself(self, predicate: Predicate) -> None:
        """PLG-18: it is chosen by its name, in `predicates.ALIAS.type`."""
        assert isinstance(predicate, Predicate)
        assert predicate.name

    def test_wrong_properties_are_refused_with_one_sentence(self, chosen: ChosenRecords) -> None:
        """PLG-18: before a task starts, with ConfigError."""
        refuse_wrong_properties(chosen.predicate, _KEY, chosen.properties, chosen.wrong_properties)

    def test_the_answer_is_a_boolean_or_a_refusal_that_shows_no_value(
        self, predicate: Predicate, chosen: ChosenRecords
    ) -> None:
        """PLG-18: with schemas and without, tombstones too; whoever asks the REST interface is shown the message."""
        answers = [(record, outcome(predicate.test, record)) for record in copies(chosen.records)]
        for record, found in answers:
            if isinstance(found, Refused):
                refuse_shown_record(found.message, record)
            else:
                assert type(found) is bool, f"the answer is a {type(found).__name__}"
        taken = [found for _, found in answers if not isinstance(found, Refused)]
        assert taken, "it answers for none of the records: let the fixture give some that it takes"

    def test_the_same_record_gets_the_same_answer(self, predicate: Predicate, chosen: ChosenRecords) -> None:
        """PLG-18: verification asks again, and a task that starts over has another instance."""
        other = made(chosen.predicate, _KEY, chosen.properties)
        for record in copies(chosen.records):
            first, again, by_other = (outcome(one.test, record) for one in (predicate, predicate, other))
            assert first == again, "the same record got another answer the second time"
            assert first == by_other, "the same record got another answer by another instance of the same properties"

    def test_a_predicate_changes_no_record(self, predicate: Predicate, chosen: ChosenRecords) -> None:
        """PLG-18: it only looks."""
        for record in copies(chosen.records):
            before = copied(record)
            outcome(predicate.test, record)
            assert record == before, "it changed the record that it was asked about"

    def test_a_batch_gets_the_answers_that_its_records_get(self, predicate: Predicate, chosen: ChosenRecords) -> None:
        """PLG-18: one answer for all, or one for each; whatever it raises has it asked about each by itself."""
        if not isinstance(predicate, BatchPredicate):
            return
        used = 0
        for records, batch in batches_of(chosen.records):
            before = records_of(batch)
            try:
                found = predicate.test_batch(batch)
            except Exception:  # noqa: BLE001, S112 it is asked about each record by itself then
                continue
            answers = [found] * len(records) if isinstance(found, bool) else list(found)
            wanted = [outcome(predicate.test, one) for one in records]
            assert answers == wanted, "a batch got other answers than its records by themselves"
            assert records_of(batch) == before, "it changed the batch that it was asked about"
            used += 1
        assert used, "`test_batch` takes none of the batches, so it only costs time"

    def test_a_predicate_may_be_closed_repeatedly(self, predicate: Predicate) -> None:
        """PLG-18: if it can be closed."""
        close_repeatedly(predicate)
