"""When values of config providers expire (KIP-297): each is restarted once, and a look costs nothing until then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.herder.test_config_reloads import AGAIN, BOTH, NotingConnector, Vault

from clocks import AdvancedClock, StoppedClock
from eosfw.builtin.config_providers import EnvVarConfigProvider
from eosfw.runtime.tasks.config_reloads import ConfigReloads, ExpiredConfig

from .hosting_harness import HostedHarness
from .test_secrets import PROVIDERS
from .worker_harness import WorkerHarness


@contextmanager
def counted_looks(reloads: ConfigReloads) -> Iterator[list[Any]]:
    """Which connectors a block looks at."""
    looks: list[Any] = []

    class Counted(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            looks.append(key)
            return super().get(key, default)

    reloads._due = Counted(reloads._due)
    yield looks


def test_each_is_due_once_by_its_newest_values() -> None:
    """TPC-06: a task by itself, and the connector itself."""
    clock = StoppedClock()
    reloads = ConfigReloads(clock)
    for task in (None, 0, 1):
        reloads.schedule("c", task, 10.0)
    reloads.schedule("d", 3, 5.0)
    reloads.schedule("c", 0, 20.0)
    reloads.schedule("d", 4, None)

    clock.at = 9.0
    assert reloads.take_due() == [ExpiredConfig("d", (3,), connector_itself=False)]
    clock.at = 10.0
    assert reloads.take_due() == [ExpiredConfig("c", (1,), connector_itself=True)]
    assert reloads.take_due() == []
    clock.at = 20.0
    assert reloads.take_due() == [ExpiredConfig("c", (0,), connector_itself=False)]


def test_a_value_that_never_holds_good_restarts_nothing_all_the_time() -> None:
    """TPC-06."""
    clock = StoppedClock()
    reloads = ConfigReloads(clock)
    reloads.schedule("c", 0, 0.0)

    assert reloads.take_due() == []
    clock.at = 1.0
    assert len(reloads.take_due()) == 1


def test_a_look_goes_through_no_connector_that_is_not_due() -> None:
    """TPC-07: nor through those that were scheduled anew."""
    clock = StoppedClock()
    reloads = ConfigReloads(clock)
    for number in range(5_000):
        reloads.schedule(f"c{number}", 0, 100.0 + number)
    with counted_looks(reloads) as looks:
        for _ in range(10):
            reloads.take_due()
        assert looks == []
        clock.at = 101.0
        assert [one.connector for one in reloads.take_due()] == ["c0", "c1"]
        assert len(looks) == 2


@pytest.mark.parametrize(("action", "starts"), [("restart", 2), ("none", 1)])
def test_a_run_restarts_its_tasks_too(monkeypatch: pytest.MonkeyPatch, action: str, starts: int) -> None:
    """TPC-06: in their generation; a run that follows its sources may last."""
    vault, connector, clock = Vault(), NotingConnector(), AdvancedClock()
    monkeypatch.setattr(EnvVarConfigProvider, "get", vault.get)
    with WorkerHarness(connector, runtime=clock, **PROVIDERS) as stage:
        stage.put(password="${env:DB_PASSWORD}", config_action_reload=action)
        stage.until(lambda: connector.started == BOTH[:1])
        stage.worker.reload()
        clock.ahead, vault.number = 100.0, 1
        stage.worker.reload()
        stage.until(lambda: len(connector.started) == starts)
        assert stage.worker.status().connectors["c"].generation == 0

    assert connector.started == [("0", "secret-0"), ("0", "secret-1")][:starts]


def test_tasks_in_processes_of_their_own_are_restarted_with_their_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    """TPC-06: they have looked up the same values."""
    vault, connector, clock = Vault(), NotingConnector(), AdvancedClock()
    monkeypatch.setattr(EnvVarConfigProvider, "get", vault.get)
    with HostedHarness(connector, runtime=clock, **PROVIDERS) as stage:
        stage.put(password="${env:DB_PASSWORD}", tasks_max="2")
        stage.until(lambda: connector.started == BOTH)
        clock.ahead, vault.number = 100.0, 1
        stage.worker.reload()
        stage.until(lambda: connector.started == AGAIN)
        assert stage.worker.status().connectors["c"].generation == 0
