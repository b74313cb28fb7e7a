"""What is read from the progress that Spark reports of a query; needs no session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import OpenTransaction, QueryProgress, StepBatch
from eosfw_spark.source.held_partitions import HELD, HeldPartition
from eosfw_spark.steps.query_progress import NOTHING, advanced


def reported(batch: int, rows: int, end: object = None, latest: object = None) -> dict[str, Any]:
    source = {"endOffset": json.dumps(end), "latestOffset": json.dumps(latest)}
    durations = {"latestOffset": 3, "triggerExecution": 40, **({"addBatch": 9} if rows else {})}
    return {
        "batchId": batch,
        "timestamp": "2026-11-28T02:11:37.461Z",
        "numInputRows": rows,
        "processedRowsPerSecond": rows / 2,
        "durationMs": durations,
        "sources": [source],
    }


def written(batch: int, rows: int, read_to: dict[TopicPartition, int] | None = None) -> StepBatch:
    return StepBatch(batch, 1_795_831_897.461, 0.04, rows, read_to or {})


def after(*reports: dict[str, Any]) -> QueryProgress:
    progress = NOTHING
    for each in reports:
        progress = advanced(progress, each)
    return progress


def test_each_batch_counts_once_however_often_it_and_idle_triggers_are_reported() -> None:
    """Spark numbers an idle trigger as the last batch, before the first one as that."""
    first, idle, second = reported(0, 3), reported(0, 0), reported(1, 5)

    twice = (written(0, 3), written(1, 5))
    assert after(first, first, second, first, second) == QueryProgress(1, 8, 2.5, 0, (), twice)
    assert after(idle, first, idle, second) == QueryProgress(1, 8, 2.5, 0, (), twice)
    assert after(first, idle).rows_per_second == 0
    assert after(idle) == QueryProgress(-1, 0, 0.0, 0, ())


def test_what_is_behind_is_counted_over_partitions() -> None:
    end, latest = {"t": {"0": 4, "1": 9}, "u": {"0": 1}}, {"t": {"0": 10, "1": 9}, "u": {"0": 2}}

    assert after(reported(0, 1, end, latest)).behind == 7
    assert after(reported(0, 1, None, latest)).behind == 0


def test_each_batch_says_how_far_it_read_and_the_last_twenty_are_kept() -> None:
    """UIC-12: what else an offset of the source holds is no partition."""
    end = {"t": {"1": 9, "0": 4}, "initial offset": {"t": {"0": 0}}, "topic ids": {"t": "x"}, "files": {"log": 3}}

    read_to = {TopicPartition("t", 0): 4, TopicPartition("t", 1): 9}
    assert after(reported(0, 1, end)).batches == (written(0, 1, read_to),)
    assert [one.number for one in after(*(reported(n, 1) for n in range(25))).batches] == list(range(5, 25))


@pytest.mark.parametrize("text", ["[1]", "7", "not json"])
def test_offsets_of_other_sources_are_passed_over(text: str) -> None:
    report = reported(0, 1)
    report["sources"][0].update(endOffset=text, latestOffset=text)

    assert after(report).behind == 0


def test_the_transaction_that_holds_a_partition_back_is_named_with_the_remedy() -> None:
    partition = TopicPartition("t", 0)
    holder = OpenTransaction("stuck", ProducerIdAndEpoch(7, 0), partition, 4, 60.0)
    held = HeldPartition(4, 9, holder, "2026-11-23T01:00:00Z").shown("h:1")
    (sentence,) = after(reported(0, 0, None, {"t": {"0": 4}, HELD: {"t-0": held}})).held_back

    assert sentence == (
        "t-0 is held back at offset 4 by transactional id 'stuck' since 2026-11-23T01:00:00Z;"
        " free it with: eosfw txn fence stuck --bootstrap-servers h:1"
    )


def test_a_holder_that_nobody_can_name_is_still_told() -> None:
    held = HeldPartition(4, 9, None, None).shown("h:1")
    (sentence,) = after(reported(0, 0, None, {HELD: {"t-0": held}})).held_back

    assert "by a transaction that no installed client can name; free it with: eosfw txn list" in sentence
