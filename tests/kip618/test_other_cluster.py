"""A connector that writes to another cluster has its offsets there, in one transaction with its records (KIP-618)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from eosfw.errors import ConfigError
from eosfw.protocols import Gap
from eosfw.state.steps import TaskStep

from .group import PLUGINS, RUNTIME, Group, exactly

KEY = b'["c",{"stream":"s0"}]'


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """The address of a second embedded cluster."""
    served = pytest.importorskip("eosfw_memory.cluster").EmbeddedCluster.start({}, RUNTIME)
    yield served.bootstrap_servers
    served.close()


class Elsewhere:
    """What another cluster holds, as the tests' own client sees it."""

    def __init__(self, servers: str) -> None:
        self._backend = PLUGINS.backend("memory").connect({"bootstrap.servers": servers}, RUNTIME)

    def topics(self) -> set[str]:
        with closing(self._backend.admin()) as admin:
            return {name for name in admin.partitions() if not name.startswith("__")}

    def read(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        with closing(PLUGINS.isolation_reader().over(self._backend, RUNTIME)) as reader:
            batches = [one for one in reader.read(reader.bounds([topic]), 30.0) if not isinstance(one, Gap)]
        return [pair for batch in batches for pair in zip(batch.keys, batch.values, strict=True)]


def overrides(servers: str) -> dict[str, str]:
    return {f"{kind}.override.bootstrap.servers": servers for kind in ("producer", "consumer", "admin")}


def run_there(group: Group, servers: str, until: int, **more: str) -> None:
    group.put(streams="1", until=str(until), **overrides(servers), **more)
    group.until_drained()


ALLOWED = {"connector_client_config_override_policy": "All"}


@pytest.mark.parametrize("own", [None, "mine"])
def test_records_and_offsets_are_on_the_cluster_of_the_producer(cluster, elsewhere, own):
    """OFF-05, OFF-06: without a name of its own the topic is called as the worker's; a copy is at home."""
    with Group(cluster, **ALLOWED) as group:
        there, topic = Elsewhere(elsewhere), f"{group.name}-{own}" if own else f"{group.name}-offsets"
        run_there(group, elsewhere, 5, **({"offsets_storage_topic": topic} if own else {}))

        assert sorted(value for _, value in there.read(group.topic)) == exactly(1, 5)
        assert there.read(topic)[-1] == (KEY, b'{"next":5}')
        assert there.topics() & {f"{group.name}-configs"} == set()
        group.until(
            lambda: group.latest(f"{group.name}-offsets").get(KEY) == b'{"next":5}', "the copy in the worker's topic"
        )


def test_a_connector_that_moves_to_another_cluster_goes_on_there(cluster, elsewhere):
    """OFF-06, OFF-08: what that cluster does not know yet is in the worker's topic."""
    with Group(cluster, **ALLOWED) as group:
        group.put(streams="1", until="5")
        group.until_drained()
        run_there(group, elsewhere, 9)
        run_there(group, elsewhere, 12)

        assert group.committed() == exactly(1, 5)
        there = sorted(value for _, value in Elsewhere(elsewhere).read(group.topic))
        assert there == sorted(set(exactly(1, 12)) - set(exactly(1, 5)))


def test_zombies_are_fenced_on_the_cluster_they_write_to(cluster, elsewhere):
    """OFF-06, FEN-06: with the admin client of the connector."""
    with Group(cluster, **ALLOWED) as group:
        common = {"streams": "2", "until": "6", "batch": "3", **overrides(elsewhere)}
        group.wake_replaced(TaskStep.COMMIT, {**common, "tasks_max": "2"}, {**common, "tasks_max": "1"}, task=1)

        assert sorted(value for _, value in Elsewhere(elsewhere).read(group.topic)) == exactly(2, 6)


def test_a_connector_half_on_another_cluster_changes_nothing(cluster, elsewhere):
    """OFF-06: it is refused before anything is made there."""
    with Group(cluster, **ALLOWED) as group:
        before = Elsewhere(elsewhere).topics()
        with pytest.raises(ConfigError, match="must share a cluster"):
            group.put(streams="1", **{"producer.override.bootstrap.servers": elsewhere})

        assert Elsewhere(elsewhere).topics() == before
        assert "c" not in group.worker.status().connectors


def test_one_cluster_by_two_addresses_has_one_offsets_topic(cluster):
    """OFF-07: a late copy in the topic that tasks write to would come after a newer offset, and win."""
    host, port = cluster.bootstrap_servers.split(":")
    other_name = f"{'localhost' if host == '127.0.0.1' else '127.0.0.1'}:{port}"
    with Group(cluster, **ALLOWED) as group:
        run_there(group, other_name, 6, batch="3")
        name = group.name
    with Group(cluster, name) as after:  # a clean stop has written every copy
        assert after.committed() == exactly(1, 6)
        assert after.committed(f"{name}-offsets") == [b'{"next":3}', b'{"next":6}']
