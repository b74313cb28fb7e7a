"""Assertions report their input and refuse input that proves nothing."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

import pytest
from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.connectors import ConnectorTransactionBoundaries
from eosfw.records import ProducerRecord, SourceRecord
from pytest_eos import assert_exactly_once, assert_no_duplicates


@connector(name="json")
class Json(CounterTask):
    """Its values are JSON, with keys in another order than anybody's."""

    def record(self, stream: str, number: int) -> SourceRecord:
        value = json.dumps({"number": number, "from": stream}, indent=1).encode()
        offset = {"next": number + 1}
        return SourceRecord(self.topic, value, source_partition={"stream": stream}, source_offset=offset)


@connector(name="stamped")
class Stamped(CounterTask):
    """Its records say when they were made."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), timestamp=1_700_000_000_000 + number)


@connector(name="repeating")
class Repeating(CounterTask):
    """One offset for two records."""

    def offset_behind(self, number: int) -> int:
        return number // 2 * 2 + 2


class Unended(CounterConnector):
    """Leaves the end of its transactions to itself, and ends none."""

    name = "unended"

    def transaction_boundaries(self, config):
        return ConnectorTransactionBoundaries.SUPPORTED


ROWS = [{"from": stream, "number": number} for stream in ("s0", "s1") for number in range(3)]


def test_a_topic_that_does_not_exist_is_not_free_of_duplicates(eos):
    """Nothing was judged; a name that is near helps."""
    run = eos.run(CounterConnector, {"topic": "counts"})

    message = r"^topic coutns does not exist, .*allow_empty=True; did you mean 'counts'"
    with pytest.raises(AssertionError, match=message):
        eos.assert_no_duplicates("coutns")
    with pytest.raises(AssertionError, match=r"^topic coutns does not exist"):
        eos.assert_exactly_once("coutns", [])
    eos.assert_no_duplicates("coutns", allow_empty=True)
    eos.assert_no_duplicates(run)


def test_an_empty_source_proves_nothing(eos):
    """The text says what its tasks answered."""
    run = eos.run(CounterConnector, {"until": 0, "tasks.max": 1})

    message = r"^connector counter, topic .*: nothing was seen, .* polls? gave 0 records, at_end said True$"
    with pytest.raises(AssertionError, match=message):
        eos.assert_exactly_once(run, run.source_records())
    with pytest.raises(AssertionError, match="nothing was seen"):
        eos.assert_no_duplicates(run)
    eos.assert_exactly_once(run, run.source_records(), allow_empty=True)
    eos.assert_no_duplicates(run, allow_empty=True)


def test_a_source_that_was_drained_before_is_asked_for_more(eos):
    """What earlier tasks gave was committed, and is no hint at this run."""
    eos.run(CounterConnector)

    with pytest.raises(AssertionError, match=r"nothing was seen, .*: give the source something to give; "):
        eos.assert_no_duplicates(eos.run(CounterConnector))


def test_records_that_were_given_and_never_committed_are_not_taken_for_an_empty_source(eos):
    run = eos.run(Unended, {"transaction.boundary": "connector"})

    message = r"nothing was seen, .* is in transactions that the connector has not ended; .* gave 24 records, "
    with pytest.raises(AssertionError, match=message):
        eos.assert_exactly_once(run, run.source_records())


def test_mappings_are_expected_of_values_in_json(eos):
    """Whatever the order of their keys, and their white space."""
    run = eos.run(Json, {"until": 3})

    eos.assert_exactly_once(run, ROWS)
    message = r"1 missing.*told apart by value, as JSON(.|\n)*missing:\n +\{\"from\":\"s9\""
    with pytest.raises(AssertionError, match=message):
        eos.assert_exactly_once(run, [*ROWS, {"number": 9, "from": "s9"}])
    with pytest.raises(TypeError, match=r"mappings cannot be told apart by value: pass bytes"):
        eos.assert_exactly_once(run, ROWS, key="value")


def test_a_field_is_taken_from_mappings(eos):
    """`field:NAME` of what is expected, as of what is seen."""
    run = eos.run(Json, {"until": 3, "streams": 1})

    eos.assert_exactly_once(run, ROWS[:3], key="field:number")


def test_a_run_is_judged_by_the_topics_of_its_own_connector(eos):
    """Another connector of the test wrote elsewhere."""
    first = eos.run(CounterConnector, {"until": 3})
    second = eos.run(Json, {"until": 3})

    for run in (first, second):
        eos.assert_exactly_once(run, run.source_records())


def test_the_records_of_a_run_have_their_timestamps(eos):
    """As their source states them, or as the clock of the producer does."""
    stated, unstated = eos.run(Stamped, {"until": 3, "streams": 1}), eos.run(CounterConnector, {"until": 3})

    assert [record.timestamp for record in stated.records()] == [1_700_000_000_000 + number for number in range(3)]
    assert all(isinstance(record.timestamp, int) for record in unstated.records())


def test_assertions_accept_lists_like_topics(eos):
    """Records that a test read by itself, or their values."""
    run = eos.run(CounterConnector, {"until": 3})
    records = list(run.records())

    assert_exactly_once(records, run.source_records(), eos=eos)
    values = [b"s%d:%d" % (stream, number) for stream in (0, 1) for number in range(3)]
    eos.assert_exactly_once([record.value for record in records], values)
    with pytest.raises(AssertionError, match="1 duplicate"):
        eos.assert_no_duplicates([*records, records[0]])
    with pytest.raises(AssertionError, match="2 missing"):
        eos.assert_exactly_once(ROWS[:4], ROWS)


@pytest.mark.parametrize("seen", [None, 7, {"a": 1}])
def test_unsupported_assertion_arguments_are_refused_with_the_supported_ones(seen):
    """Not by an AttributeError."""
    with pytest.raises(TypeError, match=r"^a run, a topic .* can be judged, not a"):
        assert_no_duplicates(seen)


@pytest.mark.parametrize("expected", [None, 7, "abc", {"a": 1}])
def test_what_is_no_list_of_rows_cannot_be_expected(expected):
    """Not by its characters or keys, nor by Python's own TypeError."""
    with pytest.raises(TypeError, match=r"^expected is .*: pass a list"):
        assert_exactly_once([b"a"], expected)


def test_a_copy_without_a_record_does_not_blame_the_connector(eos):
    """Its offsets lie behind what it wrote; who copied its topic left a record out."""
    run = eos.run(CounterConnector, {"until": 2, "topic": "from"})
    with closing(eos.backend.producer("copier")) as producer:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.send(ProducerRecord("to", b"s0:0"))
        producer.commit_transaction(30)

    with pytest.raises(AssertionError, match="missing:") as found:
        eos.assert_exactly_once("to", run.source_records(), key="value")
    assert "source partition" in str(found.value)
    assert "likely" not in str(found.value)


def test_a_run_cannot_be_expected(eos):
    """What a run wrote is no expectation; what its source says is."""
    run = eos.run(CounterConnector)

    with pytest.raises(TypeError, match=r"expected is connector counter.*pass a list, say `run.source_records\(\)`"):
        eos.assert_exactly_once(run, run)


def test_a_source_whose_records_share_offsets_is_named_as_the_cause(eos):
    """Its identity is the source's fault, not the key's."""
    run = eos.run(Repeating, {"until": 4})

    message = r"^the source gives 2 records one source offset, \{'next': 2\} of source partition \{'stream': 's0'\}"
    with pytest.raises(ValueError, match=message):
        eos.assert_exactly_once(run, run.source_records())


@pytest.mark.parametrize("values", [False, True])
def test_what_an_earlier_run_wrote_is_not_called_lost(eos, values):
    """A test of a restart: the second run has only what it wrote itself, which may be nothing."""
    eos.run(CounterConnector, {"topic": "counts", "until": 3})
    run = eos.run(CounterConnector, {"topic": "counts", "until": 3})
    expected = [record.value for record in run.source_records()] if values else run.source_records()

    with pytest.raises(AssertionError, match="6 missing") as failure:
        eos.assert_exactly_once(run, expected)

    likely = [line for line in str(failure.value).splitlines() if "likely" in line]
    assert len(likely) == 1
    assert "an earlier run wrote them" in likely[0]
    eos.assert_exactly_once(eos.topic("counts"), expected)  # as the message says


def test_a_pipeline_without_steps_has_no_output(eos):
    """Bad input: there is nothing to choose from."""
    run = eos.run_pipeline({"connectors": {"counts": {"connector.class": CounterConnector, "until": 2}}})

    for name in (None, "by-city"):
        with pytest.raises(pytest.UsageError, match=r"^the pipeline ran no steps$"):
            run.output(name)


def test_a_cluster_without_topics_offers_none(eos):
    """The list of what there is does not end with a colon."""
    with pytest.raises(AssertionError, match=r"^topic counts does not exist, .* There are: none$"):
        eos.assert_exactly_once("counts", ["s0:0"])
