"""Transactions end where the connector says (Kafka's WorkerTransactionContext)."""

from __future__ import annotations

from typing import Any

from eosfw.errors import RetriableError
from eosfw.records import SourceBatch, SourceRecord

from ..scripted_task import OFFSETS, batch, failure, record, run, scripted


def test_a_connector_ends_transactions_where_it_says():
    """BND-01, BND-02: later records of a batch belong to the next transaction."""
    first, second, third = record(0), record(1), record(2)

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.commit_record(second)
        return [first, second, third]

    stage = run(scripted(ask), transaction_boundary="connector")

    assert stage.cluster.committed("t") == [b"0", b"1"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}']
    whole = ["begin", "send t 2", OFFSETS, "commit"]
    assert stage.cluster.calls == ["init", *whole, "begin", "send t", "abort", "close"]


def test_aborted_records_of_a_connector_are_not_polled_again(caplog):
    """BND-03, MET-02: an offsets-only transaction follows; how many records it discards is news."""
    caplog.set_level("INFO", "eosfw")

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.abort()
        return [record(0), record(1)]

    stage = run(scripted(ask), transaction_boundary="connector")

    assert (stage.cluster.committed("t"), stage.cluster.committed("g-offsets")) == ([], [b'{"o":2}'])
    assert stage.cluster.calls[1:-1] == ["begin", "send t 2", "abort", "begin", OFFSETS, "commit"]
    assert "task c-0 aborts its transaction with 2 records, as its connector asked" in caplog.messages


def test_aborting_nothing_never_reaches_the_producer(caplog):
    """BND-04: it is warned of."""

    def ask(context: Any) -> None:
        context.transaction.abort()

    stage = run(scripted(ask), transaction_boundary="connector")
    assert stage.cluster.calls == ["init", "close"]
    assert "task c-0 asked to abort, but no record was sent since the last commit" in caplog.text


def test_offsets_behind_nothing_but_an_abort_are_committed(caplog):
    """BND-04: the source got on without a record; nothing of that is read again."""

    def ask(context: Any) -> SourceBatch:
        context.transaction.abort()
        return batch(5, 0)

    stage = run(scripted(record_first, ask), transaction_boundary="connector")

    assert stage.cluster.committed("g-offsets") == [b'{"o":1}', b'{"o":5}']
    assert stage.cluster.calls.count("abort") == 0
    assert "asked to abort" in caplog.text


def record_first(context: Any) -> list[SourceRecord]:
    """A record with its commit, so that an offset lies there already."""
    context.transaction.commit()
    return [record(0)]


def test_the_last_records_request_beats_the_opposite_for_its_batch():
    """BND-06, both ways round."""

    def commit_last(context: Any) -> list[SourceRecord]:
        context.transaction.abort()
        one = record(0)
        context.transaction.commit_record(one)
        return [one]

    def abort_last(context: Any) -> list[SourceRecord]:
        context.transaction.commit()
        one = record(1)
        context.transaction.abort_record(one)
        return [one]

    stage = run(scripted(commit_last, abort_last), transaction_boundary="connector")
    assert stage.cluster.committed("t") == [b"0"]


def test_only_tasks_in_connector_mode_get_a_transaction_context():
    """BND-01: None otherwise."""
    seen: list[Any] = []
    task = scripted(lambda context: seen.append(context.transaction))
    run(task)
    assert seen == [None]


def test_a_request_for_a_record_that_is_never_returned_fails_the_task():
    """BND-01: its transaction would stay open until it times out, without a word."""

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.commit_record(record(5))
        return [record(0)]

    stage = run(scripted(ask), transaction_boundary="connector")

    assert "task c-0: the task asked to commit behind a record (topic t," in failure(stage)
    assert "source offset {'o': 6}), but no poll returned it" in failure(stage)
    assert stage.cluster.committed("t") == []


def test_records_that_no_commit_follows_at_the_end_of_the_source_are_reported():
    """BND-01: a drained run would look as if it had written them."""
    never = run(scripted([record(0), record(1)]), transaction_boundary="connector")
    (notice,) = never.worker.status().notices

    assert (notice.kind, notice.count) == ("records without a commit", 2)
    assert "task c-0 has come to the end of its source in a transaction that its connector has not ended" in notice.text
    assert not run(scripted([record(0)])).worker.status().notices


def test_polls_that_fail_are_none_that_lack_the_named_record():
    """BND-01, TXN-18: a task names what it will return, then its source is away for a while."""
    named = record(1)

    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.commit_record(named)
        return [record(0)]

    away = [RetriableError("no answer", retry_after=0.0)] * 20
    stage = run(scripted(ask, *away, [named]), transaction_boundary="connector")

    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_request_for_its_batch_counts_beside_a_poll_that_failed():
    """BND-01: the task says what the records before are worth, then that its source is away."""

    def ask(context: Any) -> Any:
        context.transaction.commit()
        raise RetriableError("no answer", retry_after=0.0)

    stage = run(scripted([record(0)], ask), transaction_boundary="connector")

    assert stage.cluster.committed("t") == [b"0"]
