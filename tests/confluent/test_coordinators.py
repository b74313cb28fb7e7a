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
    refused = cluster.faults.add(Fail("FindCoordinator", code="COORDINATOR_NOT_AVAILABLE", times=1_000))
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
            print({CALLS[call]}, flush=True)
        except ClusterUnavailableError as why:
            print(why, flush=True)
        time.sleep(2)  # librdkafka looks for the coordinator once more within a second
        backend.close()
        print("closed")
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(asking)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        late = process.stdout.readline()
        cluster.faults.remove(refused)
        closed, errors = process.communicate(timeout=60)

    assert (process.returncode, closed, errors) == (0, "closed\n", "")
    assert cluster.bootstrap_servers in late


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
