"""`eosfw acl` tells which rights are needed, and which of them are missing, without changing anything."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.invocation import Ended, invoke

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode
from eosfw_memory.cluster import EmbeddedCluster

PIPELINE = """
[cluster]
backend = "{backend}"
"bootstrap.servers" = "{servers}"
{more}
[worker]
"group.id" = "team"
"config.providers" = "env"
"config.providers.env.class" = "EnvVarConfigProvider"
"config.providers.env.param.allowlist.pattern" = "TEAM_.*"
[connectors.orders]
"connector.class" = "file"
file = "orders.csv"
topic = "orders"
"tasks.max" = 2
"""


def ran(*words: str) -> Ended:
    return invoke("acl", *words)


def written(folder: Path, servers: str, backend: str = "memory", more: str = "") -> str:
    file = folder / "flow.toml"
    file.write_text(PIPELINE.format(servers=servers, backend=backend, more=more))
    return str(file)


@pytest.fixture
def embedded_alone() -> Iterator[str]:
    """A cluster of this test's own."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


def test_a_plan_names_ids_topics_and_operations(tmp_path: Path) -> None:
    """ACL-01, ACL-02, ACL-03: without asking any cluster."""
    ended = ran("plan", "orders", "--config", written(tmp_path, "127.0.0.1:9"), "--json")

    assert ended.returncode == ExitCode.OK, ended.stderr
    rows = json.loads(ended.stdout)["acls"]
    found = {(row["client"], row["resource"], row["name"], tuple(row["operations"])) for row in rows}
    assert ("worker", "transactional-id", "connect-cluster-team", ("Write", "Describe")) in found
    assert ("connector's producer", "transactional-id", "team-orders-1", ("Write", "Describe")) in found
    assert ("connector's producer", "topic", "orders", ("Write",)) in found
    assert ("connector's consumer", "topic", "team-offsets", ("Read",)) in found


def test_a_plan_is_a_table_for_people(tmp_path: Path) -> None:
    ended = ran("plan", "orders", "--config", written(tmp_path, "127.0.0.1:9"), "--prefixed")

    assert ended.returncode == ExitCode.OK, ended.stderr
    assert "connect-cluster-team" in ended.stdout
    assert "team-orders-*" in ended.stdout


def test_a_plan_can_be_pasted_as_kafkas_commands(tmp_path: Path) -> None:
    file = written(tmp_path, "127.0.0.1:9")
    ended = ran("plan", "orders", "--config", file, "--commands", "--prefixed", "--worker-principal", "User:a b")

    words = shlex.split(next(line for line in ended.stdout.splitlines() if "team-orders-" in line))
    assert words[:6] == [
        "kafka-acls.sh",
        "--bootstrap-server",
        "127.0.0.1:9",
        "--add",
        "--allow-principal",
        "User:CONNECTOR",
    ]
    assert words[6:] == [
        *("--operation", "Write", "--operation", "Describe"),
        *("--transactional-id", "team-orders-", "--resource-pattern-type", "prefixed"),
    ]
    assert "--allow-principal 'User:a b'" in ended.stdout


def test_a_workers_properties_and_a_connectors_json_will_do(tmp_path: Path) -> None:
    (tmp_path / "worker.properties").write_text(
        "group.id=team\nbootstrap.servers=127.0.0.1:9\nsecurity.protocol=PLAINTEXT\n"
    )
    (tmp_path / "c.json").write_text(
        '{"name": "c", "config": {"connector.class": "file", "topic": "t", "tasks.max": 1}}'
    )
    files = ("--config", str(tmp_path / "worker.properties"), "--connector-file", str(tmp_path / "c.json"))

    ended = ran("plan", "c", *files, "--json")

    assert ended.returncode == ExitCode.OK, ended.stderr
    rows = json.loads(ended.stdout)["acls"]
    assert "transactional-id" not in {row["resource"] for row in rows}, (
        "exactly-once is off in a worker's file by default"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan", "ordrs", "--config", "FLOW"), "there is no connector 'ordrs' in these files; there are: orders"),
        (("plan", "orders", "--config", "none.properties"), "there is no such file"),
        (("plan", "orders", "--config", "FLOW", "--connector-file", "none.json"), "it cannot be read"),
        (("check", "orders", "--config", "FLOW"), "127.0.0.1:9"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    flow = written(tmp_path, "127.0.0.1:9")
    ended = ran(*(flow if word == "FLOW" else word for word in words))

    assert ended.returncode in (ExitCode.CONFIGURATION, ExitCode.UNAVAILABLE)
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_check_changes_nothing_and_says_what_it_could_not_probe(tmp_path: Path, embedded_alone: str) -> None:
    """A cluster without ACLs allows everything; a probe that needs a write is not made."""
    ended = ran("check", "orders", "--config", written(tmp_path, embedded_alone), "--json")

    assert ended.returncode == ExitCode.OK, ended.stderr
    answers = {
        (row["client"], row["name"], row["operation"]): row["answer"] for row in json.loads(ended.stdout)["acls"]
    }
    assert answers["worker", "connect-cluster-team", "Describe"] == "allowed"
    assert answers["worker", "connect-cluster-team", "Write"] == "not probed"
    again = ran("check", "orders", "--config", written(tmp_path, embedded_alone), "--json")
    assert json.loads(again.stdout) == json.loads(ended.stdout), "the first check created nothing"


@pytest.mark.kafka
@pytest.mark.parametrize("backend", ["kafka-python", "confluent"])
def test_a_missing_right_is_found_before_anything_is_stopped(tmp_path: Path, secured, backend: str) -> None:  # type: ignore[no-untyped-def]
    """ACL-03: the id that fencing needs; a client that cannot describe ids says so."""
    from authorized_kafka import Acl, credentials

    secured.grant([Acl("worker", "TRANSACTIONAL_ID", "team-orders-0", "WRITE")])
    more = "".join(f'"{name}" = "{text}"\n' for name, text in credentials("worker").items())
    ended = ran("check", "orders", "--config", written(tmp_path, secured.bootstrap_servers, backend, more), "--json")

    rows = json.loads(ended.stdout)["acls"]
    found = {
        (row["name"], row["operation"]): row["answer"] for row in rows if row["client"] == "connector's admin client"
    }
    if backend == "confluent":
        assert found["team-orders-0", "Describe"] == found["team-orders-1", "Describe"] == "not probed"
    else:
        assert found["team-orders-0", "Describe"] == "allowed"
        assert found["team-orders-1", "Describe"] == "missing"
        assert ended.returncode == ExitCode.VERDICT_FAILED
    group = next(row for row in rows if row["resource"] == "group")
    assert group["answer"] == "missing"


@pytest.mark.kafka
def test_a_clients_password_may_stay_out_of_the_file(
    tmp_path: Path,
    secured,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cluster lets nobody in without it; a wrong one is one sentence, and is not shown."""
    from authorized_kafka import credentials

    given = {**credentials("worker"), "sasl.password": "${env:TEAM_PASSWORD}"}
    more = "".join(f'"{name}" = "{text}"\n' for name, text in given.items())
    file = written(tmp_path, secured.bootstrap_servers, "confluent", more)

    monkeypatch.setenv("TEAM_PASSWORD", "worker")
    assert ran("check", "orders", "--config", file, "--json").returncode == ExitCode.VERDICT_FAILED

    monkeypatch.setenv("TEAM_PASSWORD", "canary")
    refused = ran("check", "orders", "--config", file)
    assert refused.returncode not in (ExitCode.OK, ExitCode.VERDICT_FAILED), refused.stdout
    assert "canary" not in refused.stderr + refused.stdout
    assert "Traceback" not in refused.stderr
