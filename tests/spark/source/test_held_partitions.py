"""What holds a query back, and what the query says of it."""

from __future__ import annotations

import logging

import pytest

from clocks import StoppedClock
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import OpenTransaction
from eosfw_spark.source import held_partitions
from eosfw_spark.source.held_partitions import LOOK_EVERY, HeldPartitions
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.options import ReadOptions

from ..histories import Histories
from .stream_run import StreamRun, options


class Clock(StoppedClock):
    """Tells the time of day, too."""

    def wall(self) -> float:
        return 1_700_000_000.0 + self.at


def test_available_now_tells_at_once_who_holds_a_partition_back(
    history: Histories, caplog: pytest.LogCaptureFixture
) -> None:
    """Even though confluent-kafka cannot: any installed client that can is asked."""
    topic = history.topic()
    history.commit(topic, [b"a"])
    history.leave_open(topic, [b"open", b"open"])
    run = StreamRun(options(history, topic, backend="confluent"), [], available_now=True)
    run.finish()

    shown = run.reader.reportLatestOffset()
    assert shown is not None
    assert shown[topic] == {"0": 2}
    held = shown["held back"][f"{topic}-0"]
    assert (held["offset"], held["high watermark"]) == (2, 4)
    assert held["transactional.id"].startswith("spark-id-")
    assert held["freed by"] == f"eosfw txn fence {held['transactional.id']} --bootstrap-servers {history.servers}"
    assert held["since"].startswith("20")
    [warning] = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert f"topic '{topic}', partition 0 is held back at offset 2 of 4 by transactional id" in warning


P = TopicPartition("t", 0)
HOLDER = OpenTransaction("x", ProducerIdAndEpoch(1, 0), P, 5, 7.0)


def watched(high: dict[TopicPartition, int], clock: Clock, monkeypatch: pytest.MonkeyPatch) -> HeldPartitions:
    held = HeldPartitions(ReadOptions({"bootstrap.servers": "h:1"}, ("t",)), clock, lambda _: high)
    monkeypatch.setattr(held, "_holders", lambda partitions: dict.fromkeys(partitions, HOLDER))
    return held


def test_a_transaction_is_shown_only_if_it_lasts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, high = Clock(), {P: 9}
    held = watched(high, clock, monkeypatch)

    held.look({P: 5})
    assert held.report({P: 5}) == {}
    clock.at = LOOK_EVERY
    held.look({P: 5})
    held.look({P: 5})
    assert held.report({P: 5})["held back"]["t-0"]["since"] == "2023-11-14T22:13:18Z"
    assert held.report({P: 9}) == {}
    clock.at *= 2
    held.look({P: 5})
    assert len(caplog.records) == 1  # one warning for one holder
    clock.at *= 2
    held.look({P: 9})
    assert held.report({P: 5}) == {}


def test_high_watermarks_are_not_asked_for_at_each_batch() -> None:
    clock, asked = Clock(), list[Offsets]()

    def high_watermarks(stable: Offsets) -> Offsets:
        asked.append(stable)
        return stable

    held = HeldPartitions(ReadOptions({"bootstrap.servers": "h:1"}, ("t",)), clock, high_watermarks)

    for tenth in range(101):
        clock.at = tenth / 10
        held.look({P: 5})

    assert len(asked) == 3


@pytest.mark.parametrize(
    ("holder", "command"),
    [
        (
            None,
            "eosfw txn list --state Ongoing --bootstrap-servers h:1, then eosfw txn fence ID",
        ),
        (HOLDER, "eosfw txn fence x --bootstrap-servers h:1"),
        (
            OpenTransaction("(unknown id of producer 1)", HOLDER.producer, P, 5, 0.0),
            "eosfw txn abort t-0 5 --bootstrap-servers h:1",
        ),
    ],
)
def test_the_command_fits_what_is_known_of_the_holder(holder: OpenTransaction | None, command: str) -> None:
    held = held_partitions.HeldPartition(5, 9, holder, None)

    assert held.command("h:1") == command
    assert command in held.sentence(P, "h:1")
