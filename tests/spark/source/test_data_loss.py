"""Which missing offsets are lost records, and what a user is told of them."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw.protocols import Gap, GapReason
from eosfw.records import OffsetRange
from eosfw_spark.source.data_loss import (
    DataLoss,
    DataLossReason,
    find_data_losses,
    find_deleted,
    loss_of_gap,
    report_data_losses,
    resumed_offsets,
    same_topic,
)

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
FALSE = "failOnDataLoss is false"
NO_ID = "A" * 22
"""What a broker before Kafka 2.8 says, which may be upgraded."""
LOG = {ONE: OffsetRange(5, 50), TWO: OffsetRange(0, 20)}


def test_nothing_is_lost_within_the_bounds_of_a_log() -> None:
    """At the start, in the middle, at the end; an id that is unknown on one side says nothing."""
    for position in (5, 20, 50):
        assert find_data_losses({ONE: position, TWO: 0}, LOG) == []
        assert find_data_losses({ONE: position, TWO: 0}, LOG, {"t": "A"}, {"t": "A"}) == []
        assert find_data_losses({ONE: position, TWO: 0}, LOG, {"t": "A"}, {}) == []
        assert find_data_losses({ONE: position, TWO: 0}, LOG, {"t": NO_ID}, {"t": "A"}) == []


def test_records_below_the_log_start_are_lost() -> None:
    (loss,) = find_data_losses({ONE: 2, TWO: 0}, LOG)

    assert loss == DataLoss(ONE, DataLossReason.DELETED, 2, 5, 5)
    assert str(loss) == (
        "t-0 lost its offsets 2 to 4: retention or DeleteRecords took them before they were read; set failOnDataLoss "
        "to false to go on at offset 5, and raise the topic's retention.ms or retention.bytes, or read more often"
    )


def test_a_topic_created_again_is_told_by_its_id() -> None:
    """Though its log is long enough to go on in."""
    (loss,) = find_data_losses({ONE: 20}, LOG, {"t": "A"}, {"t": "B"})

    assert loss == DataLoss(ONE, DataLossReason.REPLACED, 20, None, 5)
    assert str(loss) == (
        "t-0 lost its records from offset 20 on: its topic was deleted and created again; set failOnDataLoss to false "
        "to go on at offset 5, or restore the records and try again"
    )


def test_an_id_is_known_in_librdkafkas_text_and_in_that_of_kafkas_tools() -> None:
    """KIP-516: a token or an offset may have been written with either."""
    assert same_topic("yhT6v/bZRX+8NbRnZxRq2Q", "yhT6v_bZRX-8NbRnZxRq2Q") is True
    assert same_topic("yhT6v/bZRX+8NbRnZxRq2Q", "yhT6v_bZRX-8NbRnZxRq2R") is False
    assert same_topic(None, "yhT6v_bZRX-8NbRnZxRq2Q") is None


@pytest.mark.parametrize(("ids", "resume"), [({"t": "A"}, 20), ({"t": NO_ID}, 0), ({}, 0)])
def test_a_log_that_ends_before_the_position_was_cut(ids: dict[str, str], resume: int) -> None:
    """In the same topic what is left was read; where the ids are unknown it may be a new one, which was not."""
    (loss,) = find_data_losses({TWO: 23}, LOG, ids, ids)

    assert loss == DataLoss(TWO, DataLossReason.TRUNCATED, 20, 23, resume)
    assert "t-1 lost its offsets 20 to 22: its log ends before them" in str(loss)


def test_a_partition_that_is_gone_is_a_loss() -> None:
    (loss,) = find_data_losses({TopicPartition("gone", 0): 7}, LOG)

    assert "gone-0 lost its records from offset 7 on: it does not exist any more" in str(loss)
    assert str(loss).endswith("set failOnDataLoss to false to go on without it, or restore the records and try again")


@pytest.mark.parametrize("reason", [GapReason.CONTROL, GapReason.HIDDEN])
def test_gaps_of_markers_aborts_and_compaction_are_no_loss(reason: GapReason) -> None:
    assert loss_of_gap(Gap(ONE, OffsetRange(3, 9), reason)) is None


def test_a_gap_of_lost_records_is_a_loss() -> None:
    """A reader of another author may tell it so."""
    loss = loss_of_gap(Gap(ONE, OffsetRange(3, 9), GapReason.LOST))

    assert loss == DataLoss(ONE, DataLossReason.DELETED, 3, 9, 9)


def test_losses_fail_a_read_with_one_sentence() -> None:
    losses = find_data_losses({ONE: 2, TWO: 21}, LOG)

    with pytest.raises(DamagedDataError) as raised:
        report_data_losses(losses, fail=True)

    assert str(raised.value) == f"{losses[0]} (and so in 1 more partitions)"
    report_data_losses([], fail=True)


def test_a_read_that_may_lose_records_warns_of_each(caplog: pytest.LogCaptureFixture) -> None:
    losses = find_data_losses({ONE: 4, TopicPartition("gone", 0): 7}, LOG)

    with caplog.at_level(logging.WARNING):
        report_data_losses(losses, fail=False)

    assert caplog.messages == [
        f"gone-0 lost its records from offset 7 on: it does not exist any more; {FALSE}: nothing is left to read",
        f"t-0 lost its offset 4: {DataLossReason.DELETED.value}; {FALSE}: reading goes on at 5",
    ]


bounds = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: OffsetRange(pair[0], sum(pair)))


@given(bounds, bounds)
def test_of_a_range_exactly_what_lies_below_the_log_is_lost(wanted: OffsetRange, log: OffsetRange) -> None:
    """Nothing of a range is both lost and read, nothing is neither."""
    lost = {offset for loss in find_deleted({ONE: wanted}, {ONE: log}) for offset in range(loss.start, loss.end or 0)}

    assert lost == {offset for offset in range(wanted.start, wanted.end) if offset < log.start}


@given(st.integers(0, 60), bounds, st.sampled_from([None, "A", "B"]))
def test_a_read_resumes_where_the_log_has_records(position: int, log: OffsetRange, now: str | None) -> None:
    ids = {} if now is None else {"t": now}
    losses = find_data_losses({ONE: position}, {ONE: log}, {"t": "A"}, ids)

    resumed = resumed_offsets({ONE: position}, losses)[ONE]

    assert log.start <= resumed <= log.end
    assert find_data_losses({ONE: resumed}, {ONE: log}, ids, ids) == []
    assert bool(losses) == (not log.start <= position <= log.end or now == "B")
