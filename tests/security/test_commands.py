"""Each command tells at once that the cluster refuses it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.invocation import invoke

from eosfw.cli.doctor.pipeline import pipeline_findings
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode
from eosfw.health import Health
from eosfw.registry import load_plugins
from eosfw_memory.cluster import EmbeddedCluster
from secured_kafka import Authority, properties_text
from token_endpoint import TokenEndpoint

from .tiny_broker import REFUSAL, Judge, TinyBroker

PASSWORD = "s3cret-guess"
PIPELINE = """
[cluster]
backend = "confluent"
{properties}
[worker]
"group.id" = "team"
"config.providers" = "file"
"config.providers.file.class" = "FileConfigProvider"
"config.providers.file.param.allowed.paths" = "{folder}"
[connectors.orders]
"connector.class" = "file"
file = "orders.csv"
topic = "orders"
"""
WORDS = {
    "run": ["run", "flow.toml"],
    "txn": ["txn", "list", "--pipeline", "flow.toml"],
    "topics": ["topics", "list", "--pipeline", "flow.toml"],
    "acl": ["acl", "check", "orders", "--config", "flow.toml", "--backend", "kafka-python"],
    "worker": ["worker", "worker.properties"],
}


@pytest.fixture
def refusing(
    broker: Callable[..., TinyBroker], server_context: Any, authority: Authority, plain_login: Judge, tmp_path: Path
) -> Path:
    """A folder whose files name a cluster with a wrong password, which a config provider reads."""
    properties = {
        "bootstrap.servers": broker(server_context(), plain_login).address,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "${file:" + str(tmp_path / "secret.properties") + ":password}",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca),
    }
    return write_files(tmp_path, properties)


@pytest.fixture
def without_token(tmp_path: Path) -> Iterator[Path]:
    """A folder whose files name a token endpoint that refuses the secret, and repeats it."""
    line = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    listening = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": line,
    }
    with closing(EmbeddedCluster.start(listening, ThreadRuntime())) as cluster, TokenEndpoint() as endpoint:
        endpoint.answer = (401, {}, json.dumps({"error": f"not {PASSWORD}"}).encode())
        address = {"bootstrap.servers": cluster.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT"}
        secret = "${file:" + str(tmp_path / "secret.properties") + ":password}"
        yield write_files(tmp_path, {**address, **endpoint.client(secret)})


def write_files(tmp_path: Path, properties: Mapping[str, str]) -> Path:
    """A pipeline and a worker's file with these properties of the cluster."""
    (tmp_path / "secret.properties").write_text(f"password={PASSWORD}\n")
    (tmp_path / "orders.csv").write_text("a\n")
    lines = "".join(f'"{name}" = "{text}"\n' for name, text in properties.items())
    (tmp_path / "flow.toml").write_text(PIPELINE.format(folder=tmp_path, properties=lines))
    worker = {
        "group.id": "team",
        "listeners": "http://127.0.0.1:0",
        "config.providers": "file",
        "config.providers.file.class": "FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(tmp_path),
        "offset.storage.topic": "offsets",
        "config.storage.topic": "configs",
        "status.storage.topic": "states",
        "backend": "confluent",
    }
    (tmp_path / "worker.properties").write_text(properties_text({**properties, **worker}))
    return tmp_path


def test_the_doctor_finds_it(refusing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The finding about the pipeline alone: the whole command looks at much else."""
    monkeypatch.chdir(refusing)  # where the doctor goes, too

    [finding] = [
        one
        for one in pipeline_findings(refusing / "flow.toml", load_plugins(), ThreadRuntime())
        if one.subject == "cluster"
    ]

    assert finding.health is Health.BROKEN
    assert REFUSAL in finding.found


REFUSALS = {"refusing": REFUSAL, "without_token": "refused a token to client 'shop': HTTP 401: not [hidden]"}


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("folder", REFUSALS)
def test_a_command_reports_a_refusal_once_and_shows_no_secret(
    request: pytest.FixtureRequest,
    folder: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SEC-10, SEC-13, SEC-32: in the log of every level, too; exit code 3."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(request.getfixturevalue(folder))

    ended = invoke(*WORDS[command])

    shown = ended.stdout + ended.stderr
    assert ended.returncode == ExitCode.CONFIGURATION, shown
    assert shown.replace("\n", " ").count(REFUSALS[folder]) == 1, shown
    assert PASSWORD not in shown + caplog.text


RIGHTS = {
    "run": (["run", "flow.toml"], "Create on the topic 'team-configs'"),
    "worker": (["worker", "worker.properties"], "Create on the topic 'configs'"),
    "topics": (["topics", "create", "orders", "--pipeline", "flow.toml"], "Create on the topic 'orders'"),
    "txn": (["txn", "fence", "till", "--pipeline", "flow.toml"], "Describe on the transactional id 'till'"),
}


@pytest.fixture
def without_rights(tmp_path: Path) -> Iterator[Path]:
    """A folder whose files name a cluster on which their user may do nothing."""
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with closing(EmbeddedCluster.start({"authorizer.class.name": authorizer}, ThreadRuntime())) as cluster:
        yield write_files(tmp_path, {"bootstrap.servers": cluster.bootstrap_servers})


@pytest.mark.parametrize("command", RIGHTS)
def test_a_command_that_lacks_a_right_names_it_and_ends_as_with_any_other_configuration_that_cannot_run(
    without_rights: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-14: exit code 3, where 1 is a task or a step that failed."""
    monkeypatch.chdir(without_rights)
    words, needed = RIGHTS[command]

    ended = invoke(*words)

    shown = ended.stdout + ended.stderr
    assert ended.returncode == ExitCode.CONFIGURATION, shown
    assert needed in shown.replace("\n", " ")
