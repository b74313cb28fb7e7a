"""A coordinator restarted at any point of a transaction keeps one outcome on all partitions."""

from __future__ import annotations

import pytest

from eosfw.errors import EosfwError, ProducerFencedError
from eosfw_memory.faults import Delay, Jump, Restart
from eosfw_memory.faults.points import WRITES, after, before
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, record

PARTITIONS = 3
HOUR = 3600.0
VALUES = [b"0", b"1", b"2"]
UNDECIDED = {before("empty"), after("empty"), before("ongoing"), after("ongoing"), before("append"), after("append")}
"""Points at which a restart leaves the transaction undecided, so the client begins again."""
IN_A_COMMIT = [
    side(what) for what in ("ongoing", "append", "prepare", "marker", "complete") for side in (before, after)
]


def write(lab, producer, topic, outcome):
    producer.begin_transaction()
    for number, value in enumerate(VALUES):
        producer.send(record(topic, value, number))
    end = producer.commit_transaction if outcome == "commit" else producer.abort_transaction
    producer.flush(WAIT)
    end(WAIT)


def settled(lab, cluster, topic):
    """The visible values after every transaction ended, and the end offset of each partition."""
    values = lab.values(topic)
    assert cluster.open_transactions() == []
    ends = [lab.end(topic, UNCOMMITTED, number) for number in range(PARTITIONS)]
    assert ends == [lab.end(topic, COMMITTED, number) for number in range(PARTITIONS)]
    return sorted(values), ends


@pytest.mark.parametrize("outcome", ["commit", "abort"])
@pytest.mark.parametrize("nth", range(1, PARTITIONS + 1))
@pytest.mark.parametrize("side", [before, after])
def test_a_failover_between_markers_keeps_one_outcome_on_all_partitions(lab, cluster, faults, side, nth, outcome):
    """COR-10, COR-14: the outcome that Prepare recorded is final."""
    topic, producer = lab.topic(PARTITIONS), lab.producer()
    restarted = faults.add(Restart(side("marker"), nth=nth))

    write(lab, producer, topic, outcome)
    restarted.await_fired(WAIT)

    visible, ends = settled(lab, cluster, topic)
    assert visible == (VALUES if outcome == "commit" else [])
    assert all(end >= 2 for end in ends)


@pytest.mark.parametrize("point", IN_A_COMMIT)
def test_at_every_point_of_a_commit_a_restart_leaves_all_or_nothing(lab, cluster, faults, point):
    """In Empty, Ongoing and PrepareCommit alike; the next holder begins where the verdict leaves it."""
    topic, producer = lab.topic(PARTITIONS), lab.producer("mover")
    restarted = faults.add(Restart(point))

    try:
        write(lab, producer, topic, "commit")
        committed = True
    except EosfwError:
        committed = False
    restarted.await_fired(WAIT)
    lab.producer("mover").close()  # the next holder ends what was left open

    visible, _ = settled(lab, cluster, topic)
    assert visible in ([], VALUES)
    assert visible == VALUES or not committed
    if point in (after("prepare"), before("marker"), after("marker"), before("complete"), after("complete")):
        assert visible == VALUES


@pytest.mark.parametrize("point", [before("empty"), after("empty")])
def test_a_restart_in_the_middle_of_a_take_over_leaves_one_holder(lab, cluster, faults, point):
    """COR-03: with two holders both could commit the same records."""
    topic, first = lab.topic(PARTITIONS), lab.producer("mover")
    faults.add(Restart(point))

    try:
        second = lab.producer("mover")
    except EosfwError:
        second = lab.producer("mover")
    write(lab, second, topic, "commit")

    with pytest.raises(ProducerFencedError):
        write(lab, first, topic, "commit")
    assert settled(lab, cluster, topic)[0] == VALUES


@pytest.mark.parametrize("point", [before("prepare"), after("prepare")])
def test_a_restart_while_an_expired_transaction_is_aborted_completes_the_abort(lab, cluster, faults, point):
    """COR-14, COR-15: the broker is at this by itself, with no request under way."""
    topic, late = lab.topic(PARTITIONS), lab.producer()
    late.begin_transaction()
    late.send(record(topic, b"late"))
    late.flush(WAIT)
    restarts = cluster.broker.restarts
    restarted = faults.add(Restart(point))

    cluster.broker.jump(HOUR)
    cluster.broker.run_due_tasks()
    assert restarted.fired
    assert cluster.broker.restarts == restarts + 1
    cluster.broker.jump(HOUR)
    cluster.broker.run_due_tasks()

    assert settled(lab, cluster, topic)[0] == []
    with pytest.raises(ProducerFencedError):
        late.commit_transaction(WAIT)


def test_a_restart_during_the_recovery_from_a_restart_changes_nothing(lab, cluster, faults):
    """A recovery must be repeatable, since the next crash may come in the middle of it."""
    topic, producer = lab.topic(PARTITIONS), lab.producer()
    faults.add(Restart(after("marker"), nth=1, times=2))
    faults.add(Restart(before("complete"), nth=1, times=2))

    write(lab, producer, topic, "commit")

    assert settled(lab, cluster, topic)[0] == VALUES
    assert faults.unfired() == []


def test_a_topic_deleted_during_completion_blocks_no_transaction(lab, cluster, faults):
    """COR-11: a marker for a partition that is gone can never be written; waiting would block the others for ever."""
    topic, doomed, producer = lab.topic(PARTITIONS), lab.topic(), lab.producer()
    held = faults.add(Delay("EndTxn"))
    producer.begin_transaction()
    producer.send(record(doomed, b"lost"))
    for number, value in enumerate(VALUES):
        producer.send(record(topic, value, number))
    producer.flush(WAIT)
    ending = lab.runtime.spawn("ending", lambda: producer.commit_transaction(WAIT))
    held.await_fired(WAIT)

    cluster.broker.topics.delete(cluster.broker.topics.by_name(doomed))
    held.release()

    assert ending.join(WAIT)
    assert settled(lab, cluster, topic)[0] == VALUES


@pytest.mark.parametrize("arrives", ["before", "after"])
def test_a_timeout_during_a_commit_leaves_one_outcome(lab, cluster, faults, arrives):
    """KAFKA-20785: the first of commit and timeout wins; the other gets an error."""
    topic, producer = lab.topic(PARTITIONS), lab.producer(timeout=30.0)
    faults.add(Jump(f"{arrives}-EndTxn", seconds=31.0))

    if arrives == "before":
        with pytest.raises(ProducerFencedError):
            write(lab, producer, topic, "commit")
    else:
        write(lab, producer, topic, "commit")

    assert settled(lab, cluster, topic)[0] == ([] if arrives == "before" else VALUES)


def test_every_write_has_a_test_of_its_points():
    """Those of the log of groups are hit in `test_group_log`, expiry of ids in the tests of their clock."""
    of_groups = ("offsets", "materialize", "group", "forget-group")
    tested_in_other_modules = {side(what) for what in ("forget", *of_groups) for side in (before, after)}
    every = {side(what) for what in WRITES for side in (before, after)}
    assert every - tested_in_other_modules == {*UNDECIDED, *IN_A_COMMIT}
