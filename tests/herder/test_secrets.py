"""What a herder tells its REST interface has references, and never what config providers gave."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.test_secrets import CANARY, PROVIDERS, LeakyConnector

from eosfw.errors import EosfwError, NotFoundError
from eosfw.protocols.herder import ConnectorOffset
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

REFERENCE = "${env:DB_PASSWORD}"


@pytest.fixture
def group(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[HerderGroup]:
    """A group whose workers may read one secret."""
    monkeypatch.setenv("DB_PASSWORD", CANARY)
    plugins = GroupPlugins(LeakyConnector())
    with HerderGroup(cluster, plugins, "g", **PROVIDERS) as group:  # type: ignore[arg-type]
        yield group


def properties(password: str = REFERENCE, **more: str) -> dict[str, str]:
    return {"connector.class": "leaky", "password": password, **more}


def states(herder: DistributedHerder) -> set[str]:
    try:
        return {task.state for task in herder.connector_status("c").tasks}
    except NotFoundError:  # nobody has reported yet
        return set()


def visible_texts(herder: DistributedHerder) -> str:
    """Everything that a user may ask for."""
    return repr(
        [
            herder.connector_info("c"),
            herder.task_infos("c"),
            herder.connector_status("c"),
            herder.validate("leaky", {"name": "c", **properties(odd=REFERENCE)}),
        ]
    )


@pytest.mark.parametrize("leak", ["nowhere", "start", "odd"])
def test_no_answer_of_a_herder_shows_a_secret(group: HerderGroup, caplog: pytest.LogCaptureFixture, leak: str) -> None:
    """Properties of connectors and tasks, states with traces, validation: CVE-2019-12399."""
    caplog.set_level(logging.DEBUG)
    herder = group.start()
    herder.put_connector("c", properties(leak=leak))
    wanted = "RUNNING" if leak == "nowhere" else "FAILED"
    group.until(lambda: states(herder) == {wanted}, "the state of the task")

    shown = visible_texts(herder)

    assert CANARY not in shown
    assert CANARY not in caplog.text
    assert f"db://me:{REFERENCE}@h" in shown
    assert leak == "nowhere" or "[hidden]" in shown, "the trace is there, without the secret"


@pytest.mark.parametrize("password", [REFERENCE, CANARY], ids=["provided", "plain"])
def test_no_refusal_of_a_herder_shows_a_secret(
    group: HerderGroup, caplog: pytest.LogCaptureFixture, password: str
) -> None:
    """Where the connector fails after its properties were stored, when it splits its work."""
    herder = group.start()
    refusals = []
    try:
        herder.put_connector("c", properties(password, leak="split"))
    except EosfwError as refused:
        refusals.append(str(refused))
    group.until(lambda: "[hidden]" in "".join(refusals) + caplog.text + trace(herder), "the refusal")

    assert CANARY not in "".join(refusals) + caplog.text + trace(herder)


@pytest.mark.parametrize("password", [REFERENCE, CANARY], ids=["provided", "plain"])
def test_a_connector_shows_no_secret_in_the_log_while_it_is_validated(
    group: HerderGroup, caplog: pytest.LogCaptureFixture, password: str
) -> None:
    """Also one that is asked whether its properties are good before anybody creates it."""
    herder = group.start()

    herder.validate("leaky", {"name": "c", **properties(password, leak="checked")})

    assert "a check logs in with [hidden]" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize("password", [REFERENCE, CANARY], ids=["provided", "plain"])
@pytest.mark.parametrize(
    "change",
    [
        lambda herder: herder.alter_offsets("c", [ConnectorOffset({"p": 1}, {"o": 1})]),
        lambda herder: herder.reset_offsets("c"),
    ],
    ids=["alter", "reset"],
)
def test_a_connector_that_refuses_a_change_of_offsets_shows_no_secret(
    group: HerderGroup, caplog: pytest.LogCaptureFixture, password: str, change: Callable[[DistributedHerder], str]
) -> None:
    """KIP-875: also in a worker that never started the connector, which is stopped."""
    herder = group.start()
    herder.put_connector("c", properties(password, leak="offsets"), initial_state="STOPPED")
    group.until(lambda: not herder._services.member.rebalance_expected(), "the group's first assignment")

    with pytest.raises(EosfwError) as refused:
        change(herder)

    assert str(refused.value).endswith("offsets: no offset with [hidden]")
    assert CANARY not in "".join(traceback.format_exception(refused.value)) + caplog.text


def trace(herder: DistributedHerder) -> str:
    try:
        return str(herder.connector_status("c").connector.trace)
    except NotFoundError:
        return ""


def test_an_override_that_the_policy_refuses_does_not_enter(group: HerderGroup) -> None:
    """CFG-08: a worker of a group has the policy None unless it says otherwise."""
    herder = group.start()

    with pytest.raises(EosfwError, match=r"producer\.override\.linger\.ms: The 'None' policy does not allow"):
        herder.put_connector("c", properties(**{"producer.override.linger.ms": "5"}))
    assert herder.connectors() == []
