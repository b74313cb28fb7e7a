"""Before a worker changes its mode, the group tells whether that is safe (UPG-01, UPG-02, UPG-04)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.config.worker import SUPPORT, WORKER
from eosfw.runtime import DistributedHerder
from eosfw.runtime.checks.upgrade_check import UpgradeCheck, UpgradeFinding, Verdict, support_findings
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup


@pytest.mark.parametrize(
    ("live", "wanted", "verdict"),
    [
        (("disabled", "disabled"), "preparing", Verdict.WAIT),
        (("preparing", "disabled"), "preparing", Verdict.WAIT),
        (("preparing", "preparing"), "preparing", Verdict.READY),
        (("preparing", "preparing"), "enabled", Verdict.WAIT),
        (("enabled", "preparing"), "enabled", Verdict.WAIT),
        (("enabled", "enabled"), "enabled", Verdict.READY),
        (("disabled", "preparing"), "enabled", Verdict.PROBLEM),
        (("disabled", "disabled"), "enabled", Verdict.PROBLEM),
        (("enabled", "disabled"), "enabled", Verdict.PROBLEM),
        (("enabled", "enabled"), "disabled", Verdict.PROBLEM),
        ((), "enabled", Verdict.READY),
    ],
)
def test_a_mode_is_safe_beside_its_neighbour_alone(live: tuple[str, ...], wanted: str, verdict: Verdict) -> None:
    """UPG-01, UPG-02: up by two rolling upgrades, down by the same steps."""
    modes = {f"w{number}": mode for number, mode in enumerate(live)}

    (finding,) = support_findings(modes, wanted)

    assert finding.verdict is verdict
    if verdict is not Verdict.READY:
        left = [name for name, mode in modes.items() if mode != wanted] or list(modes)
        assert all(name in finding.text for name in left)


def findings(cluster: Cluster, wanted: str) -> list[UpgradeFinding]:
    """Look at group `g` as the command does, for a worker that is about to have this mode."""
    config = WORKER.parse({"group.id": "g", SUPPORT: wanted})
    plugins = GroupPlugins(CountingConnector())
    with closing(plugins.backend("memory").connect(cluster.client, cluster.runtime)) as backend:
        return UpgradeCheck(config, backend, plugins, cluster.runtime).findings()  # type: ignore[arg-type]


@contextmanager
def workers(cluster: Cluster, *modes: str) -> Iterator[list[DistributedHerder]]:
    """Live workers of group `g`, each with its mode."""
    plugins = GroupPlugins(CountingConnector())
    with ExitStack() as opened:
        found = []
        for number, mode in enumerate(modes):
            group = HerderGroup(cluster, plugins, "g", exactly_once_source_support=mode)  # type: ignore[arg-type]
            found.append(opened.enter_context(group).start(f"w{number}"))
            group.until(lambda count=number + 1: len(live(cluster)) == count, "the worker in the group")  # type: ignore[misc]
        yield found


def live(cluster: Cluster) -> set[str]:
    backend = GroupPlugins(CountingConnector()).backend("memory").connect(cluster.client, cluster.runtime)
    with closing(backend), closing(backend.admin()) as admin:
        return {one.client_id for one in admin.describe_group("g").members}


def test_the_modes_of_live_workers_decide(cluster: Cluster) -> None:
    """UPG-01: what a worker says of itself as long as it lives; nothing of those that are gone."""
    with workers(cluster, "disabled", "preparing"):
        assert [one.verdict for one in findings(cluster, "enabled")] == [Verdict.PROBLEM]
        assert [one.verdict for one in findings(cluster, "preparing")] == [Verdict.WAIT]

    (gone,) = findings(cluster, "enabled")
    assert (gone.verdict, gone.text) == (Verdict.READY, "no worker of the group is alive")


def test_a_group_that_nobody_ever_joined_is_ready(cluster: Cluster) -> None:
    """UPG-01: nothing is created by looking."""
    for _ in range(2):
        assert [one.text for one in findings(cluster, "enabled")] == ["no worker was ever in the group"]
