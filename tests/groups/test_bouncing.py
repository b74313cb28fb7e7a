"""Workers come and go as processes on a real Kafka, while tasks write: no gap, no repeat, nothing restarted by hand.

The scenarios of Kafka's own `connect_distributed_test.test_exactly_once_source` and of KIP-618's integration tests.
"""

from __future__ import annotations

import pytest

PACED = {"connector_class": "paced", "streams": 6, "rate": 50}


@pytest.mark.parametrize("rounds", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_rounds_of_bouncing_lose_and_repeat_nothing(start_group, grows, topic, rounds) -> None:
    """One of clean stops, then one of kills."""
    group = start_group(3)
    group.configure("paced", **PACED, tasks_max=3, topic=topic)
    group.until_running("paced", 3)
    for number in range(rounds):
        for worker in group.workers:
            if number % 2:
                worker.kill()
            else:
                worker.stop()
            grows(group)
            worker.start()
            group.until(lambda worker=worker: group.ask("GET", "/connectors", worker=worker), "the worker to be back")
    group.until_running("paced", 3)
    grows(group)


@pytest.mark.parametrize("whom", ["leader", "follower"])
def test_a_frozen_worker_is_replaced_and_harmless_when_it_wakes(start_group, grows, topic, whom) -> None:
    group = start_group(3)
    group.configure("paced", **PACED, tasks_max=3, topic=topic)
    group.until_running("paced", 3)
    leader = group.leader()
    frozen = leader if whom == "leader" else next(one for one in group.workers if one is not leader)
    address = frozen.url.removeprefix("http://")
    others = [one for one in group.workers if one is not frozen]

    frozen.freeze()
    group.workers = others
    group.until(lambda: address not in group.owners("paced") and len(group.owners("paced")) == 3, "others to take over")
    grows(group)
    frozen.wake()
    group.workers = [*others, frozen]
    group.until(lambda: group.ask("GET", "/connectors", worker=frozen) == ["paced"], "the zombie to join again")
    group.until_running("paced", 3)
    grows(group)


@pytest.mark.parametrize("backend", ["confluent", "kafka-python"])
def test_task_counts_change_under_load(start_group, grows, topic, backend) -> None:
    group = start_group(2, backend)
    for count in (3, 5, 1, 5, 3):
        group.configure("paced", **PACED, tasks_max=count, topic=topic)
        group.until_running("paced", count)
        grows(group)


def test_two_rolling_upgrades_under_load_reach_exactly_once(start_group, grows, topic) -> None:
    """Disabled, preparing, enabled (UPG-01): clean restarts repeat nothing even before; afterwards kills do not."""
    group = start_group(2, exactly_once_source_support="disabled")
    group.configure("paced", **PACED, tasks_max=2, topic=topic)
    group.until_running("paced", 2)
    for support in ("preparing", "enabled"):
        for worker in group.workers:
            grows(group)
            worker.stop()
            worker.start(exactly_once_source_support=support)
            group.until(lambda worker=worker: group.ask("GET", "/connectors", worker=worker), "the worker to be back")
    group.until_running("paced", 2)
    grows(group)
    group.workers[0].kill()
    grows(group)
