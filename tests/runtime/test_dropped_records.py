"""Records that a transform drops are not sent, yet count for offsets, boundaries and callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from eosfw.records import SourceRecord
from eosfw.runtime.records.poll_result import read_poll_result
from eosfw.runtime.tasks import loop as source_task_loop
from eosfw.state.tasks.poll_batch import PollBatch

from .scripted_task import OFFSETS, batch, record, run, scripted


@pytest.fixture(autouse=True)
def odd_numbers_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transform between poll and send that drops odd numbers."""

    def dropping(polled: Any, task: object, **how: Any) -> Sequence[PollBatch]:
        return [
            made
            for one in read_poll_result(polled, task, **how)
            for made in one.transformed([None if int(each.value or b"") % 2 else each for each in one.records()])
        ]

    monkeypatch.setattr(source_task_loop, "read_poll_result", dropping)


def test_the_offset_of_a_dropped_record_commits_with_the_others():
    """TXN-04: the dropped record was the last one."""
    stage = run(scripted([record(0), record(1)]))

    assert stage.cluster.calls[1:-1] == ["begin", "send t", OFFSETS, "commit"]
    assert stage.cluster.committed("t") == [b"0"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}']


@pytest.mark.parametrize("polled", [[record(1)], batch(1, 1)])
def test_a_poll_whose_records_are_all_dropped_commits_its_offsets_alone(polled):
    """TXN-04: or a restart would read them again and again."""
    stage = run(scripted(polled))

    assert stage.cluster.calls[1:-1] == ["begin", OFFSETS, "commit"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}']
    assert stage.worker.status().records == 0


def test_commit_record_hears_of_dropped_records_in_order_without_a_place():
    """TXN-04, TXN-05: with the record that poll returned."""
    heard: list[tuple[bytes | None, int | None]] = []

    def commit_record(_: Any, one: SourceRecord, metadata: Any) -> None:
        heard.append((one.value, None if metadata is None else metadata.offset))

    run(scripted([record(1), record(2), record(3)], [record(5)], [record(4)], commit_record=commit_record))

    assert heard == [(b"1", None), (b"2", 0), (b"3", None), (b"5", None), (b"4", 1)]


def test_a_connector_may_end_a_transaction_behind_a_dropped_record():
    """TXN-04: boundaries ask for every record that poll returned."""

    def ask(context: Any) -> list[SourceRecord]:
        records = [record(0), record(1), record(2)]
        context.transaction.commit_record(records[1])
        context.transaction.commit()
        return records

    stage = run(scripted(ask), transaction_boundary="connector")

    one = ["begin", "send t", OFFSETS, "commit"]
    assert stage.cluster.calls[1:-1] == [*one, *one]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}', b'{"o":3}']


def test_identity_headers_name_the_records_that_are_sent():
    """Each record keeps its own source offset when one before it is dropped."""
    stage = run(scripted([record(1), record(2)]), eosfw_identity="headers")

    (headers,) = [entry.headers for where, log in stage.cluster.logs.items() if where.topic == "t" for entry in log]
    assert dict(headers)["eosfw.source.offset"] == b'{"o":3}'
