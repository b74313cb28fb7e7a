"""What a worker and its tasks log, each at the level that KIP-618 asks for."""

from __future__ import annotations

import logging

import pytest

from ..fake_cluster import FakeCluster
from ..worker_harness import WorkerHarness


def logged(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """The messages of one level, of the framework alone."""
    return [one.getMessage() for one in caplog.records if one.levelno == level and one.name.startswith("eosfw")]


def test_skipped_fencings_are_logged_with_their_reason(caplog):
    """MET-02: for debugging, since nothing is wrong."""
    caplog.set_level(logging.DEBUG, "eosfw")
    with WorkerHarness() as stage:
        for _ in range(2):
            stage.put("c", until="3")
            stage.until_drained()
        stage.put("c", streams="2", until="3", tasks_max="2")
        stage.until_drained()

    skipped = [text for text in logged(caplog, logging.DEBUG) if "is fenced for generation" in text]
    assert skipped[0] == "no producer of connector c is fenced for generation 0: no task of it ran before"
    assert "share a transactional id" in skipped[1]
    fenced = [text for text in skipped if "generation 2" in text]
    assert all("task count record is newer" in text for text in fenced)


def test_a_leader_that_lost_its_privilege_warns(caplog):
    """MET-02: another leader fenced it; here nobody took the group over."""
    cluster = FakeCluster()
    with WorkerHarness(cluster=cluster) as stage:
        cluster.fence("connect-cluster-g")
        stage.put("c", until="3")
        stage.until_drained()

    (warning,) = [text for text in logged(caplog, logging.WARNING) if "privilege" in text]
    assert f"worker {stage.worker.name} lost the privilege to write to the config topic" in warning
