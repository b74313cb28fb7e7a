"""What was started with values of config providers is restarted when they have expired (KIP-297), in virtual time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.test_secrets import PROVIDERS

from eosfw.builtin.config_providers import EnvVarConfigProvider
from eosfw.config import Config, ConfigDef, Password, String
from eosfw.connectors import SourceConnector, SourceTask
from eosfw.errors import NotFoundError
from eosfw.protocols import ConfigData, LookupRefusedError
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

TTL = 100.0


class Vault:
    """A service whose secrets change; each holds good for a while."""

    number, ttl = 0, TTL
    sealed = False

    def get(self, _path: str, keys: Collection[str]) -> ConfigData:
        if self.sealed:
            raise LookupRefusedError("the vault is sealed")
        return ConfigData(dict.fromkeys(keys, f"secret-{self.number}"), ttl=self.ttl)


class NotingTask(SourceTask):
    """Notes the passwords with which it starts."""

    started: ClassVar[list[tuple[str, str]]]
    breaks: ClassVar[bool] = False

    def start(self, config: Config, context: Any) -> None:
        self.started.append((config["share"], config["password"]))

    def poll(self) -> None:
        if self.breaks:
            raise ValueError("broken")

    def at_end(self) -> bool:
        return True


class NotingConnector(SourceConnector):
    """Gives each task its reference."""

    name = "noting"
    config = ConfigDef(String("topic", "t"), Password("password"))
    asked = 0

    def __init__(self) -> None:
        self.task = type("Task", (NotingTask,), {"started": []})  # type: ignore[misc]

    @property
    def started(self) -> list[tuple[str, str]]:
        return sorted(self.task.started)  # type: ignore[attr-defined]

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        self.asked += 1
        return [{"share": str(number), "password": config["password"]} for number in range(max_tasks)]


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Vault:
    found = Vault()
    monkeypatch.setattr(EnvVarConfigProvider, "get", found.get)
    return found


@pytest.fixture
def connector() -> NotingConnector:
    return NotingConnector()


@pytest.fixture
def group(cluster: Cluster, connector: NotingConnector, vault: Vault) -> Iterator[HerderGroup]:
    """A group without workers."""
    with HerderGroup(cluster, GroupPlugins(connector), "g", **PROVIDERS) as group:  # type: ignore[arg-type]
        yield group


def states(herder: DistributedHerder) -> list[str]:
    try:
        return [task.state for task in herder.connector_status("c").tasks]
    except NotFoundError:
        return []


def create(group: HerderGroup, tasks: int = 2, **more: str) -> None:
    """Create the connector, and wait for its tasks."""
    herder = group.workers["a"]
    given = {"connector.class": "noting", "password": "${env:DB_PASSWORD}", "tasks.max": str(tasks)}
    herder.put_connector("c", given | {name.replace("_", "."): text for name, text in more.items()})
    group.until(lambda: states(herder) == ["RUNNING"] * tasks, "tasks that run")


BOTH = [("0", "secret-0"), ("1", "secret-0")]
AGAIN = sorted([*BOTH, ("0", "secret-1"), ("1", "secret-1")])


@pytest.mark.parametrize("workers", ["a", "ab"], ids=["one worker", "two workers"])
def test_connector_and_tasks_start_again_with_new_values_when_the_old_have_expired(
    group: HerderGroup, connector: NotingConnector, vault: Vault, workers: str
) -> None:
    """TPC-06: each worker restarts its own, once, in their generation."""
    for name in workers:
        group.start(name)
    create(group)
    asked, vault.number = connector.asked, 1

    group.runtime.sleep(TTL / 2)
    assert connector.started == BOTH
    group.until(lambda: connector.started == AGAIN, "new values", TTL)
    group.runtime.sleep(TTL / 2)

    assert connector.started == AGAIN
    assert connector.asked > asked
    assert states(group.workers["a"]) == ["RUNNING", "RUNNING"]
    assert {one.worker_status().connectors["c"].generation for one in group.workers.values()} == {0}


def test_they_are_left_alone_if_the_connector_says_so(
    group: HerderGroup, connector: NotingConnector, vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    """TPC-06: `config.action.reload=none`; the log says for how long the values hold good."""
    group.start()
    create(group, config_action_reload="none")
    vault.number = 1

    group.runtime.sleep(3 * TTL)

    assert connector.started == BOTH
    assert "c-0 has values of config providers that hold good for 100 s: restart it then" in caplog.text


def test_values_without_an_end_are_never_looked_up_again(
    group: HerderGroup, connector: NotingConnector, vault: Vault
) -> None:
    """TPC-06."""
    vault.ttl = None  # type: ignore[assignment]
    group.start()
    create(group)

    group.runtime.sleep(10 * TTL)

    assert connector.started == BOTH


def test_tasks_go_on_while_a_provider_gives_no_new_values(
    group: HerderGroup, connector: NotingConnector, vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    """TPC-06: they start again as soon as it does."""
    herder = group.start()
    create(group)
    vault.sealed = True

    group.runtime.sleep(2 * TTL)
    assert connector.started == BOTH
    assert states(herder) == ["RUNNING", "RUNNING"]
    assert "connector c could not be reloaded yet" in caplog.text
    vault.sealed, vault.number = False, 1

    group.until(lambda: connector.started == AGAIN, "new values")


def test_a_failed_task_is_not_started_again_by_itself(
    group: HerderGroup, connector: NotingConnector, vault: Vault
) -> None:
    """TPC-06, TXN-19."""
    herder = group.start()
    create(group, tasks=1)
    connector.task.breaks = True  # type: ignore[attr-defined]
    group.until(lambda: states(herder) == ["FAILED"], "the failure")

    group.runtime.sleep(2 * TTL)

    assert connector.started == BOTH[:1]
    assert states(herder) == ["FAILED"]


def test_a_new_configuration_counts_from_its_own_start(
    group: HerderGroup, connector: NotingConnector, vault: Vault
) -> None:
    """TPC-06: what was due by the values before is due no more."""
    herder = group.start()
    create(group, tasks=1)
    group.runtime.sleep(TTL * 0.8)
    herder.patch_connector("c", {"topic": "u"})
    group.until(lambda: connector.started == BOTH[:1] * 2, "the next generation")

    group.runtime.sleep(TTL * 0.8)
    assert connector.started == BOTH[:1] * 2
    group.until(lambda: connector.started == BOTH[:1] * 3, "the restart", TTL)


def test_a_deleted_connector_is_forgotten(group: HerderGroup, connector: NotingConnector, vault: Vault) -> None:
    """TPC-06."""
    herder = group.start()
    create(group, tasks=1)
    herder.delete_connector("c")

    group.runtime.sleep(2 * TTL)

    assert connector.started == BOTH[:1]
    assert herder._parts.services.reloads.take_due() == []
