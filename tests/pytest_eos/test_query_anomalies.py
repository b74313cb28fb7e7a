"""Batches of a Spark query that are wrong are named by the history of what its sink wrote (CHK-06)."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from eosfw.checker import read_history
from eosfw.protocols import NewTopic
from eosfw.records import ProducerBatch
from pytest_eos import EosHarness
from pytest_eos.runs.queries.runs import QueryRun

QUERY = "11-22"
ROWS = [b"a", b"b", b"b"]
"""Two equal rows are two rows."""


class Sink:
    """Writes batches as the exactly-once sink does, to partition 0 of the topic `out`, or otherwise."""

    def __init__(self, eos: EosHarness, checkpoint: Path) -> None:
        self._eos, self._checkpoint = eos, checkpoint
        with closing(eos.backend.admin()) as admin:
            admin.create_topics(
                [NewTopic("out", 2), NewTopic("__eos_tokens", 25, config={"cleanup.policy": "compact"})]
            )
        (checkpoint / "commits").mkdir(parents=True)
        (checkpoint / "metadata").write_text(json.dumps({"id": QUERY}))

    def publish(self, batch: int | None, rows: list[bytes], *, said: int | None = None, query: str = QUERY) -> None:
        token = {"batch": batch, "rows": len(rows) if said is None else said, "writers": 1}
        with closing(self._eos.backend.producer(f"eos-spark-{query}", transaction_timeout=60.0)) as producer:
            producer.init_transactions(10.0)
            producer.begin_transaction()
            if rows:
                producer.send_batch(ProducerBatch("out", list(rows), [None] * len(rows), 0))
            if batch is not None:
                producer.send_batch(ProducerBatch("__eos_tokens", [json.dumps(token).encode()], [query.encode()], 3))
            producer.commit_transaction(10.0)

    def finish(self, batch: int) -> None:
        (self._checkpoint / "commits" / str(batch)).touch()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def sink(eos: EosHarness, checkpoint: Path) -> Sink:
    made = Sink(eos, checkpoint)
    made.publish(0, ROWS)
    made.finish(0)
    return made


def test_batches_that_are_visible_once_and_whole_are_no_anomaly(eos: EosHarness, sink: Sink, checkpoint) -> None:
    """CHK-06, CHK-02: a row of another batch may be equal, a batch may have none, and the broker may start again."""
    eos.faults.add("restart", at="after-complete")
    sink.publish(1, ROWS[1:])
    sink.publish(2, [])
    sink.finish(1)
    sink.finish(2)
    eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")
    assert {"answered", "held"} <= {each.op for each in read_history(eos.settings.folder / "history.jsonl")}


def test_a_batch_that_is_published_again_is_named(eos: EosHarness, sink: Sink, checkpoint) -> None:
    sink.publish(0, ROWS)
    with pytest.raises(AssertionError, match=r"batch-replayed: row .*, batch 0 of 11-22, is visible at out-0@0 and "):
        eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")


def test_rows_of_two_attempts_in_one_transaction_are_named(eos: EosHarness, sink: Sink, checkpoint) -> None:
    sink.publish(1, [*ROWS[:2], *ROWS[:2]], said=2)
    with pytest.raises(AssertionError, match=r"two-attempts: row .*, batch 1 of 11-22, is visible at "):
        eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")


def test_a_batch_of_which_rows_are_missing_is_named(eos: EosHarness, sink: Sink, checkpoint) -> None:
    sink.publish(1, ROWS, said=4)
    with pytest.raises(AssertionError, match=r"partial-batch: of batch 1 of 11-22, 3 of 4 rows are visible"):
        eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")


def test_a_batch_that_is_finished_and_was_never_published_is_named(eos: EosHarness, sink: Sink, checkpoint) -> None:
    sink.finish(1)
    with pytest.raises(AssertionError, match=r"lost-batch: batch 1 of 11-22 is finished by its checkpoint"):
        eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")


def test_rows_of_no_batch_show_nothing(eos: EosHarness, sink: Sink, checkpoint) -> None:
    """CHK-06, CHK-04: a batch that came again without its token is no anomaly that could be named, and is not good."""
    sink.publish(None, ROWS)
    with pytest.raises(AssertionError, match=r"nothing shown: 3 visible rows, the first at out-0@4, are of no batch"):
        eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")


def test_rows_of_another_query_are_not_judged(eos: EosHarness, sink: Sink, checkpoint) -> None:
    """CHK-06: two queries may write one topic."""
    sink.publish(0, ROWS, query="33-44")
    eos.assert_no_anomaly(QueryRun("q", checkpoint, []), "out")
