"""Groups of unmodified clients whose members die, stand still, or give partitions back one by one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.groups import consumers
from broker.groups.consumers import poll, shared, until

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")
STILL = {"max_poll_interval_ms": 6_000}


@pytest.fixture
def mortal(consumer, cluster, filled) -> Iterator[subprocess.Popen[bytes]]:
    """A member of the group in a process of its own, which a test may kill."""
    words = (consumer.kind.NAME, cluster.bootstrap_servers, consumer.group, filled)
    with subprocess.Popen([sys.executable, "-W", "ignore", str(Path(consumers.__file__)), *words]) as process:
        yield process
        process.kill()


@pytest.mark.timeout(600)
def test_partitions_of_dead_and_slow_members_are_reassigned(consumer, filled, mortal):
    """GRP-02: a session times out, a poll comes too late; the slow member joins again."""
    steady = consumer(filled)
    until(lambda: steady.poll() or 0 < len(steady.partitions()) < 4)  # the other process is there
    slow = consumer(filled, **STILL)
    until(lambda: poll(slow, steady) or (slow.partitions() and len(steady.partitions()) < 3))

    mortal.kill()
    until(lambda: shared(steady))
    before = steady.partitions()
    until(lambda: shared(steady, slow))

    assert before == {0, 1, 2, 3}
    assert steady.partitions().isdisjoint(slow.partitions())


def test_a_cooperative_rebalance_moves_only_reassigned_partitions(consumer, filled):
    """KIP-429 over the classic protocol: who was there keeps reading what stays, and never gives that back."""
    cooperative = {"partition_assignment_strategy": "cooperative-sticky"}
    first = consumer(filled, **cooperative)
    until(lambda: shared(first))

    second = consumer(filled, **cooperative)
    until(lambda: shared(first, second))

    assert len(first.partitions()) == len(second.partitions()) == 2
    assert first.revoked == second.partitions()
    assert second.revoked == set()
