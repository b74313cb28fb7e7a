"""How often a source is polled in virtual time, and when it counts as drained."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.pytest_eos.counter import CounterConnector, CounterTask
from tests.pytest_eos.virtual.virtual_harness import SMALL, TIMEOUT

from eosfw.records import SourceBatch
from eosfw.runtime.tasks.loop import IDLE_PAUSE


class Silent(CounterConnector):
    """Has nothing to give, and does not know whether it ever will."""

    name = "silent"

    class Task(CounterTask):
        def poll(self):
            return []

        def at_end(self):
            return self.answer

        answer = None

    task = Task


class Waiting(Silent):
    """Has nothing to give, and says that there will be more."""

    name = "waiting"

    class Task(Silent.Task):
        answer = False

    task = Task


def test_a_source_that_gives_nothing_counts_as_drained_by_virtual_seconds(eos):
    """Idle for 5 s of the clock that everybody lives by."""
    now = eos.runtime.now()

    run = eos.run(Silent)

    assert 5 <= eos.runtime.now() - now < TIMEOUT
    assert run.source_records() == []


def test_an_endless_wait_fails_after_the_virtual_timeout(eos):
    """Virtual time must not run away with a test, nor hang it."""
    now = eos.runtime.now()

    with pytest.raises(pytest.fail.Exception, match=r"^waited 60 virtual seconds in vain for a drained run: "):
        eos.run(Waiting)

    assert TIMEOUT <= eos.runtime.now() - now < 2 * TIMEOUT


class Unsure(CounterConnector):
    """Does not know whether it will ever have more."""

    name = "unsure"

    class Task(CounterTask):
        def at_end(self):
            return None

    task = Task


@pytest.mark.parametrize("request_kind", ["Produce", "AddPartitionsToTxn", "EndTxn"])
def test_an_answer_slower_than_the_idle_time_does_not_end_the_stream(eos, request_kind):
    """What is under way is no idleness; every number still to come is read, too."""
    if request_kind == "AddPartitionsToTxn":  # which version 2 of transactions does without (KIP-890)
        eos.worker(producer_eosfw_transaction_version=1)
    slow = eos.cluster.local.faults.add("delay", request=request_kind, nth=6, seconds=20.0)

    run = eos.run(Unsure, SMALL)

    assert slow.fired
    assert len(eos.topic(run.topics[0]).values()) == SMALL["streams"] * SMALL["until"]


def test_a_source_with_occasional_records_is_not_drained_in_between(eos):
    """Each poll with records starts the idle time anew."""

    class Slow(Unsure.Task):
        def poll(self):
            eos.runtime.sleep(4.0)
            return super().poll()

    class Connector(Unsure):
        name, task = "slow", Slow

    run = eos.run(Connector, {**SMALL, "batch": 1, "tasks.max": 1})

    assert len(eos.topic(run.topics[0]).values()) == SMALL["streams"] * SMALL["until"]


@pytest.mark.parametrize(("step", "lasts"), [(1, "less"), (0, "more")], ids=["moving", "standing"])
def test_a_source_that_skips_records_is_polled_without_a_pause(eos, step, lasts):
    """Empty batches that move are progress; one that stands still leaves its task a rest."""
    polls = 60

    class Passing(CounterTask):
        polled = 0

        def poll(self):
            if self.at_end():
                return None
            self.polled += 1
            return SourceBatch(self.topic, [], {"stream": "s0"}, {"next": self.polled * step})

        def at_end(self):
            return self.polled == polls

    class Connector(CounterConnector):
        name, task = "passing", Passing

    now = eos.runtime.now()
    eos.run(Connector, {"streams": 1})

    assert (eos.runtime.now() - now < polls * IDLE_PAUSE / 2) is (lasts == "less")


@pytest.mark.parametrize(
    ("properties", "busy"),
    [({}, 1.0), ({"transaction.boundary": "interval", "transaction.boundary.interval.ms": "20000"}, 20.0)],
    ids=["nothing to commit", "records to commit until the interval ends"],
)
def test_a_source_that_stays_empty_is_polled_less_and_less_often(eos, properties, busy):
    """At least once a second; ten times a second at first, and while a transaction waits for its boundary."""
    polls = []

    class Empty(CounterTask):
        def poll(self):
            polls.append(eos.runtime.now())
            return super().poll()

        def at_end(self):
            return super().at_end() and eos.runtime.now() > polls[0] + 50

    class Connector(CounterConnector):
        name, task = "empty", Empty

    run = eos.run(Connector, {**SMALL, "tasks.max": 1, **properties})

    assert len(eos.topic(run.topics[0]).values()) == SMALL["streams"] * SMALL["until"]
    pauses = [(after - polls[0], after - before) for before, after in pairwise(polls)]
    assert max(pause for at, pause in pauses if at < busy) < 1.5 * IDLE_PAUSE
    assert max(pause for _, pause in pauses) < 1.1
    assert sum(at > 30 for at, _ in pauses) < 25


@pytest.mark.parametrize("waits", [0.0, 0.6, 1.0, 1.5])
def test_a_poll_that_waits_for_records_itself_is_followed_by_less_of_a_pause(eos, waits):
    """At most a second between two polls, and no pause at all behind one that waits for a second."""
    polls, ends = [], []

    class Waiting(CounterTask):
        def poll(self):
            polls.append(eos.runtime.now())
            eos.runtime.sleep(waits)
            ends.append(eos.runtime.now())

        def at_end(self):
            return eos.runtime.now() > polls[0] + 50

    class Connector(CounterConnector):
        name, task = "waiting", Waiting

    eos.run(Connector, {"streams": 1})

    pause = max(after - end for end, after in zip(ends, polls[1:], strict=False))
    assert pause == pytest.approx(max(0.0, 1.0 - waits), abs=0.05)
