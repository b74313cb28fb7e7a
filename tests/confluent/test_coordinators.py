"""Questions to a group's coordinator that come while the cluster has none yet."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw_confluent import admin_calls
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Fail

CALLS = {
    "describe": "admin.describe_group('g')",
    "offsets": "admin.group_offsets('g', [TopicPartition('t', 0)])",
    "delete": "admin.delete_groups(['g'])",
}


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    yield cluster
    cluster.close()


@pytest.mark.parametrize("call", CALLS)
def test_a_coordinator_that_is_found_after_the_deadline_leaves_the_process_alive(
    cluster: EmbeddedCluster, call: str
) -> None:
    """For a request of an admin client that has timed out, librdkafka 2.16 aborts the process when it finds one."""
    looked_for = cluster.faults.add(Fail("FindCoordinator", code="COORDINATOR_NOT_AVAILABLE", times=2))
    asking = f"""
        import time
        from eosfw.concurrency import ThreadRuntime
        from eosfw.errors import ClusterUnavailableError
        from eosfw.ids import TopicPartition
        from eosfw_confluent.backend import ConfluentBackend

        properties = {{"bootstrap.servers": "{cluster.bootstrap_servers}", "default.api.timeout.ms": "50"}}
        backend = ConfluentBackend.connect(properties, ThreadRuntime())
        admin = backend.admin()
        try:
            print({CALLS[call]})
        except ClusterUnavailableError as why:
            print(why)
        time.sleep(2)  # librdkafka looks for the coordinator once more within a second
        backend.close()
        print("closed")
    """

    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(asking)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (process.returncode, process.stderr) == (0, "")
    late, closed = process.stdout.splitlines()
    assert cluster.bootstrap_servers in late
    assert closed == "closed"
    assert looked_for.fired


def test_questions_that_are_answered_share_one_connection(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader of a worker group asks every few seconds; each new handle would ask for a token, or a handshake."""
    made: list[AdminClient] = []

    def make(config: dict[str, Any]) -> AdminClient:
        made.append(AdminClient(config))
        return made[-1]

    monkeypatch.setattr(admin_calls, "AdminClient", make)
    backend = ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())
    with closing(backend):
        admin = backend.admin()
        for _ in range(3):
            admin.describe_group("g")
            admin.group_offsets("g", [TopicPartition("t", 0)])

        assert len(made) == 2, "one for coordinators, one for everything else"
