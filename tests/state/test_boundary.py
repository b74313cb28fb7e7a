"""Where transactions end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from eosfw.records import SourceRecord
from eosfw.state.tasks.boundary import (
    BoundaryConflictError,
    End,
    IntervalBoundary,
    PollBoundary,
    RecordNotReturnedError,
    RequestedBoundary,
    split,
)
from eosfw.state.tasks.poll_batch import batches_of


def record(number: int = 0) -> SourceRecord:
    return SourceRecord("t", b"%d" % number)


def test_the_interval_counts_from_loop_start_then_from_each_commit():
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


def test_a_stopping_connector_defined_boundary_commits_only_on_request():
    """TXN-11."""
    boundary = RequestedBoundary()
    assert boundary.at_stop() is End.KEEP
    boundary.commit()
    assert boundary.at_stop() is End.COMMIT


def polls(boundary: RequestedBoundary, *batches: list[SourceRecord]) -> list[End]:
    """How transactions end behind each piece of what polls return."""
    return [end for batch in batches for _, end in split(batches_of(batch), boundary, lambda: 0.0)]


def test_a_record_may_be_named_long_before_a_poll_returns_it():
    """BND-02: tasks fetch ahead, and hand out in pieces."""
    boundary, records = RequestedBoundary(), [record(number) for number in range(4)]
    boundary.commit_record(records[3])

    assert polls(boundary, records[:2], [], [], records[2:]) == [End.KEEP] * 4 + [End.COMMIT]


@pytest.mark.parametrize("what", ["commit", "abort"])
def test_naming_a_copy_of_what_is_returned_is_an_error(what):
    """BND-02: records are told apart by identity, so the transaction would never end."""
    boundary, returned, copy = RequestedBoundary(), record(1), record(1)
    getattr(boundary, f"{what}_record")(copy)

    with pytest.raises(RecordNotReturnedError, match=rf"asked to {what} behind a record .topic t, .* a copy of it"):
        polls(boundary, [record(0), returned])


def test_naming_a_record_that_was_returned_before_is_an_error():
    """BND-01: its transaction has gone on."""
    boundary, one = RequestedBoundary(), record(1)
    polls(boundary, [record(0), one], [])
    boundary.commit_record(one)

    with pytest.raises(RecordNotReturnedError, match="an earlier poll had returned it"):
        polls(boundary, [record(2)])


def test_naming_a_record_that_is_never_returned_is_an_error():
    """BND-01: found out by the source's end, by polls without records, by polls with many others."""
    other = [record(7)]
    for ending in (
        lambda boundary: boundary.at_end(),
        lambda b: polls(b, *[[]] * 10),
        lambda b: polls(b, *[other] * 10_000),
    ):
        boundary = RequestedBoundary()
        boundary.abort_record(record(1))
        with pytest.raises(RecordNotReturnedError, match=r"asked to abort behind a record .* returned"):
            ending(boundary)
    RequestedBoundary().at_end()


def test_only_polls_without_records_in_a_row_count_against_a_named_record():
    """BND-02: a slow source is empty again and again, and returns the record later."""
    boundary, one = RequestedBoundary(), record(1)
    boundary.commit_record(one)

    assert polls(boundary, *[[]] * 9, [record(7)], *[[]] * 9, [one])[-1] is End.COMMIT
    boundary.commit_record(record(2))
    polls(boundary, [record(7)], *[[]] * 9)
    with pytest.raises(RecordNotReturnedError, match="the last 10 returned nothing"):
        polls(boundary, [])


def test_records_that_are_named_together_may_come_in_any_order_and_equal_earlier_ones():
    """BND-02: only what can come no more is an error."""
    boundary, late, soon = RequestedBoundary(), record(1), record(2)
    polls(boundary, [record(1)])
    boundary.commit_record(late)
    boundary.commit_record(soon)
    assert polls(boundary, [soon]) == [End.COMMIT]
    assert polls(boundary, [late]) == [End.COMMIT]

    boundary.commit_record(twin := record(1))
    assert polls(boundary, [record(3)], [twin])[-1] is End.COMMIT


def test_polls_count_against_a_named_record_since_it_was_named():
    """BND-02: the 10,000th that did not return it is one too many, however many there were before."""
    boundary, others = RequestedBoundary(), [record(7)]
    polls(boundary, *[others] * 20)
    boundary.commit_record(record(1))

    polls(boundary, *[others] * 9_999)
    with pytest.raises(RecordNotReturnedError, match="none of 10,000 polls returned it"):
        polls(boundary, others)


def test_each_record_of_a_poll_is_sent_once_before_its_transaction_ends():
    """BND-02: a poll is cut behind the named record; without requests it is sent as a whole."""
    records = [record(number) for number in range(4)]
    requested = RequestedBoundary()
    requested.commit_record(records[0])

    def pieces(boundary):
        parts = split([*batches_of(records[:2]), *batches_of(records[2:])], boundary, lambda: 0.0)
        return [([[one.value for one in batch.records()] for batch in piece], end) for piece, end in parts]

    first, second = [b"0", b"1"], [b"2", b"3"]
    assert pieces(requested) == [
        ([[b"0"]], End.COMMIT),
        ([[b"1"]], End.KEEP),
        ([second], End.KEEP),
        ([], End.KEEP),
    ]
    assert pieces(PollBoundary()) == [([first, second], End.KEEP), ([], End.COMMIT)]


@pytest.fixture
def switches_often() -> Iterator[None]:
    """Threads that take turns as often as Python lets them."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("switches_often")
def test_no_request_of_another_thread_is_lost():
    """BND-01: a request that comes while the worker asks counts now or at the next batch."""
    boundary, seen, asked = RequestedBoundary(), threading.Semaphore(0), 3000
    given_up = threading.Event()

    def ask() -> None:
        for number in range(asked):
            (boundary.commit if number % 2 else boundary.abort)()
            if not seen.acquire(timeout=10.0):
                given_up.set()

    thread = threading.Thread(target=ask)
    thread.start()
    found = 0
    while found < asked and not given_up.is_set():
        if boundary.after_batch(0.0) is not End.KEEP:
            found += 1
            seen.release()
    thread.join(30.0)

    assert (found, given_up.is_set()) == (asked, False)
