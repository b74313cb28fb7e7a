"""Hostile properties of workers and connectors: one sentence for each, naming the property."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from eosfw.config.kinds import ConnectorName
from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.properties_file import parse_properties
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError, PluginError
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.pipeline.definition.toml_file import read_toml
from eosfw.registry import Plugins, load_plugins
from eosfw.runtime.checks.preflight import connector_problems
from eosfw.state.fencing.id_collisions import colliding_users
from eosfw.state.group.support import group_support

CANARY = "canary"
LONG = "x" * 300


def worker_refusal(properties: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as refused:
        WORKER.parse({"group.id": "g", "exactly.once.source.support": "enabled", **properties}, "worker")
    return sentence(str(refused.value))


def sentence(text: str) -> str:
    assert "Traceback" not in text
    assert all(line.isprintable() for line in text.splitlines())
    assert max(map(len, text.splitlines()), default=0) < 600
    return text


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return load_plugins()


@pytest.fixture
def problems_of(plugins: Plugins, tmp_path: Path) -> Any:
    (tmp_path / "a.csv").write_text("a\n")

    def ask(properties: dict[str, str], worker: dict[str, str] | None = None) -> str:
        config = WORKER.parse({"group.id": "g", "exactly.once.source.support": "enabled", **(worker or {})})
        given = {"connector.class": "file", "file": str(tmp_path / "a.csv"), "topic": "t", **properties}
        found = connector_problems(plugins, config, "c", given, plugins.backend("memory").problems)
        return sentence("\n".join(map(str, found)))

    return ask


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        # 1: a key that is misspelt
        ({"exactly.once.source.suport": "enabled"}, "did you mean 'exactly.once.source.support'?"),
        ({"sesion.timeout.ms": "1"}, "did you mean 'session.timeout.ms'?"),
        ({"consumer": "x"}, "unknown configuration 'consumer'"),
        # 3: what exactly-once rests on, set by the worker
        ({"producer.bootstrap.servers": "h:1"}, "to another cluster"),
        # 6: groups that no topic can be named after
        ({"group.id": ""}, "String must be non-empty"),
        ({"group.id": LONG}, "at most 200 characters long, not 300"),
        ({"group.id": "gr\u00fcppe"}, "may only hold letters"),
        ({"group.id": "g\0"}, "may only hold letters"),
        ({"group.id": "g\u202eetisno"}, "may only hold letters"),
        ({"group.id": "g h"}, "may only hold letters"),
        ({"group.id": "../g"}, "may only hold letters"),
        # 8: topics that are no topics, or one for two purposes
        ({"offset.storage.topic": "g-configs"}, "are both 'g-configs': name two topics"),
        ({"status.storage.topic": "g-offsets"}, "are both 'g-offsets': name two topics"),
        ({"offset.storage.topic": ".."}, "cannot be called '.' or '..'"),
        ({"offset.storage.topic": LONG}, "at most 249 characters long, not 300"),
        ({"offset.storage.topic": "a/b"}, "may only hold letters"),
        ({"offset.storage.topic": ""}, "String must be non-empty"),
    ],
)
def test_a_hostile_worker_property_is_refused(properties: dict[str, str], message: str) -> None:
    assert message in worker_refusal(properties)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        # 1
        ({"exactly.once.suport": "required"}, "did you mean 'exactly.once.support'?"),
        ({"producer.override.": "x"}, "names no property"),
        # 3
        ({"producer.override.acks": "1"}, "exactly-once needs acks=all"),
        ({"producer.override.max.in.flight.requests.per.connection": "6"}, "a number between 1 and 5"),
        ({"producer.override.retries": "0"}, "exactly-once repeats what was not answered"),
        # 5
        *(
            ({"producer.override.transaction.timeout.ms": text}, "milliseconds between 1 and 2147483647")
            for text in ("0", "-1", "2147483648", "10s", "NaN", "1e9", "", "9" * 5000)
        ),
        # 7
        *(({"tasks.max": text}, "for configuration tasks.max") for text in ("0", "-1", "1000000", "\u221e", "", "1.5")),
        # 8
        *(({"topic": topic}, "is the worker's own") for topic in ("g-configs", "g-offsets", "g-status")),
        ({"topic": ".."}, "cannot name a topic"),
        ({"topic": LONG}, "cannot name a topic"),
        ({"topic": "__transaction_state"}, "is a topic of the cluster's own"),
    ],
)
def test_a_hostile_connector_property_is_refused(problems_of: Any, properties: dict[str, str], message: str) -> None:
    assert message in problems_of(properties, dict(LOCAL_FILE_POLICY))


@pytest.mark.parametrize(
    ("prefix", "name", "value"),
    [
        ("producer.override.", "transactional.id", CANARY),
        ("producer.override.", "enable.idempotence", CANARY),
        ("producer.override.", "acks", CANARY),
        ("consumer.override.", "isolation.level", CANARY),
        ("producer.override.", "plugin.library.paths", f"/{CANARY}.so"),
        ("producer.override.", "ssl.engine.location", f"/{CANARY}.so"),
        ("admin.override.", "sasl.kerberos.kinit.cmd", CANARY),
        ("consumer.override.", "error_cb", f"os.{CANARY}"),
        ("consumer.override.", "oauth_cb", f"os.{CANARY}"),
        ("producer.override.", "sasl.oauthbearer.token.endpoint.url", f"file:///{CANARY}"),
        ("producer.override.", "sasl.oauthbearer.token.endpoint.url", f"http://169.254.169.254/{CANARY}"),
        ("producer.override.", "ssl.key.location", f"/etc/{CANARY}"),
        ("producer.override.", "ssl.truststore.location", f"/etc/{CANARY}"),
        ("producer.override.", "sasl.jaas.config", f"com.sun.JndiLoginModule required url={CANARY};"),
    ],
)
@pytest.mark.parametrize("policy", ["None", "Principal", "Allowlist"])
def test_an_override_that_the_policy_refuses_is_named_without_its_value(
    problems_of: Any, prefix: str, name: str, value: str, policy: str
) -> None:
    """What comes by REST changes nothing unless the worker says so."""
    problem = problems_of({prefix + name: value}, {"connector.client.config.override.policy": policy})

    assert f"{prefix}{name}: " in problem
    assert CANARY not in problem


@pytest.mark.parametrize(
    "value",
    [
        "${file:/etc/passwd:root}",
        "${env:AWS_SECRET_ACCESS_KEY}",
        "${file:../../x:a}",
        "${${file:/etc/passwd:root}}",
        "${vault:secret/db:password}",
        "a ${dir:/etc:passwd} b",
    ],
)
@pytest.mark.parametrize("name", ["topic", "connector.class", "tasks.max", "producer.override.linger.ms"])
def test_a_reference_that_no_provider_allows_is_named_without_its_value(
    problems_of: Any, name: str, value: str
) -> None:
    """With providers, `tests/config/test_config_providers.py` has the rest of it."""
    problem = problems_of({name: value}, dict(LOCAL_FILE_POLICY))

    assert (
        f"connector c: {name}: refers to a config provider that the worker's config.providers does not name" in problem
    )
    assert "passwd" not in problem
    assert "AWS" not in problem


@pytest.mark.parametrize(
    "dotted",
    ["os:system", "subprocess:Popen", "subprocess.Popen", "antigravity:fly", "this:s", "builtins:eval", "a:b:c"],
)
def test_a_connector_that_is_not_installed_is_refused_before_any_import(plugins: Plugins, dotted: str) -> None:
    """`connector.class` chooses among plugins, it never imports."""
    before = set(sys.modules)
    with pytest.raises(PluginError, match="no connector"):
        plugins.connector(dotted)

    assert not {"antigravity", "this"} & (set(sys.modules) - before)


@pytest.mark.parametrize(
    "name", ["", " ", "../x", "a/b", "x" * 10_000, "a\0b", "a\nb", "a\rb", "a\u202eb", "a\u2028b", " a", "a\t"]
)
def test_a_hostile_connector_name_is_refused_and_escaped(plugins: Plugins, name: str) -> None:
    """No name breaks a line of a log, or a path."""
    with pytest.raises(ValueError, match=r"String must be non-empty|must be") as refused:
        ConnectorName("name").parse(name)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("name", ["a", "\u00fcber", "\U0001f680", "a b", "a.b", "a-b", "__init__", "x" * 200])
def test_an_unusual_connector_name_is_fine(name: str) -> None:
    assert ConnectorName("name").parse(name) == name


def test_ids_of_two_groups_that_clash_are_known_to_clash() -> None:
    """Kafka's format cannot tell `g-a` with `1` from `g` with `a-1`."""
    first = task_transactional_id("g-a", ConnectorTaskId("1", 0))
    assert first == task_transactional_id("g", ConnectorTaskId("a-1", 0))

    assert any(user.group_id == "g" and user.connector == "a-1" for user in colliding_users(first, "g-a"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a = 1\na = "canary"\n', ":2: "),
        ("[worker]\n[worker]\n", ":2: "),
        ("a = " + "[" * 20_000, "nested too deeply"),
        ("a.b = 1\na = 2\n", ":2: "),
        ("a = canary", ":1: "),
        ("\0", ":1: "),
    ],
)
def test_a_hostile_toml_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    """For the formats that are read here: none can call code or expand aliases."""
    file = tmp_path / "flow.toml"
    file.write_text(text)

    with pytest.raises(ConfigError) as refused:
        read_toml(file)

    assert message in sentence(str(refused.value))


@pytest.mark.parametrize(
    ("text", "message"), [("a=1\na=2", "a second time"), ("a=\\uZZZZ", "malformed"), (":x", "no name")]
)
def test_a_hostile_properties_file_names_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^line \d") as refused:
        parse_properties(text)

    assert message in str(refused.value)


def test_exactly_once_in_a_part_of_the_workers_names_the_others() -> None:
    """Who lags behind gets no tasks, and is named with the two steps."""
    judged = group_support({"w1": "enabled", "w2": "disabled", "w3": "enabled"})

    assert judged.excluded == {"w2"}
    assert "disabled in w2 and enabled in w1, w3" in (judged.problem or "")
    assert "preparing" in (judged.problem or "")
