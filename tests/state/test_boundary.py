"""Where transactions end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.records import SourceRecord
from eosfw.state.boundary import BoundaryConflictError, End, IntervalBoundary, PollBoundary, RequestedBoundary


def record(number: int = 0) -> SourceRecord:
    return SourceRecord("t", b"%d" % number)


def test_poll_ends_a_transaction_behind_every_poll():
    """CFG-05, TXN-11."""
    boundary = PollBoundary()
    assert (boundary.after_record(record()), boundary.after_batch(0), boundary.at_stop()) == (
        End.KEEP,
        End.COMMIT,
        End.COMMIT,
    )


def test_the_interval_counts_from_the_start_of_the_loop_then_from_each_commit():
    """BND-07: evaluated per batch, due at exactly last + interval."""
    boundary = IntervalBoundary(10.0)
    boundary.start(100.0)

    assert [boundary.after_batch(now) for now in (100.0, 109.9, 110.0, 119.9, 125.0, 134.9, 135.0)] == [
        End.KEEP,
        End.KEEP,
        End.COMMIT,
        End.KEEP,
        End.COMMIT,
        End.KEEP,
        End.COMMIT,
    ]
    assert boundary.at_stop() is End.COMMIT


@given(st.floats(0.001, 100), st.lists(st.floats(0, 50), min_size=1))
def test_two_commits_are_never_closer_than_the_interval(interval, pauses):
    """BND-07."""
    boundary, now, last = IntervalBoundary(interval), 0.0, 0.0
    boundary.start(now)
    for pause in pauses:
        now += pause
        if boundary.after_batch(now) is End.COMMIT:
            assert now - last >= interval * 0.999999
            last = now


def test_every_request_of_a_connector_counts_once():
    """BND-01."""
    boundary = RequestedBoundary()
    boundary.commit()
    assert [boundary.after_batch(0), boundary.after_batch(0)] == [End.COMMIT, End.KEEP]

    boundary.abort()
    assert [boundary.after_batch(0), boundary.after_batch(0)] == [End.ABORT, End.KEEP]

    one = record()
    boundary.commit_record(one)
    assert [boundary.after_record(one), boundary.after_record(one)] == [End.COMMIT, End.KEEP]


def test_a_request_for_one_record_is_not_taken_for_an_equal_one():
    """BND-02: records are told apart by identity."""
    boundary, one, twin = RequestedBoundary(), record(), record()
    boundary.abort_record(one)
    assert (boundary.after_record(twin), boundary.after_record(one)) == (End.KEEP, End.ABORT)


def test_opposite_requests_raise_where_the_worker_asks():
    """BND-05: not in the task, which might swallow it."""
    boundary, one = RequestedBoundary(), record()
    boundary.commit_record(one)
    boundary.abort_record(one)
    with pytest.raises(BoundaryConflictError, match="commit and to abort behind one record"):
        boundary.after_record(one)

    boundary.commit()
    boundary.abort()
    with pytest.raises(BoundaryConflictError):
        boundary.after_batch(0)


def test_a_request_for_no_record_is_an_error():
    """BND-01."""
    with pytest.raises(TypeError):
        RequestedBoundary().commit_record(None)


def test_at_its_stop_a_connector_that_ends_transactions_commits_only_if_it_asked():
    """TXN-11."""
    boundary = RequestedBoundary()
    assert boundary.at_stop() is End.KEEP
    boundary.commit()
    assert boundary.at_stop() is End.COMMIT
