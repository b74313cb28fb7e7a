"""Tasks go on when certificates are renewed on disk, and when a password is changed and set back."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from eosfw.config.security import SecurityProtocol, SecuritySettings
from eosfw.runtime.status import TaskStatus
from eosfw_memory.client.transport.tls_context import TlsContext
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.broker.scram_records import ScramCredentialKey
from eosfw_memory.server.security.scram_credential import MIN_ITERATIONS, ScramCredential, ScramMechanism
from ports import free_port
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_harness import HarnessSettings
from secured_kafka import PASSWORD, SCRAM, Authority

NETWORK = "eosfw_memory.server.network"
LISTENER = "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config"
MANY = {"streams": 2, "until": 100_000, "batch": 1, "tasks.max": 2}
HASTY = dict.fromkeys(("default.api.timeout.ms", "max.block.ms"), "4000")
"""A call that waits no longer gives its task the reason; the first connection on busy cores takes a second and more."""
ONE = {**MANY, "streams": 1, "tasks.max": 1, "producer.override.transaction.timeout.ms": "1000"}
"""A commit that was begun waits no longer than its transaction may last."""
Served = Callable[..., EmbeddedCluster]


@pytest.fixture
def served(authority: Authority, tmp_path: Path) -> Iterator[Served]:
    """Starts a broker on one directory at one address, in place of the one before."""
    running: list[EmbeddedCluster] = []
    own = {
        "listeners": f"SASL_SSL://127.0.0.1:{free_port()}",
        "log.dirs": str(tmp_path / "data"),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }

    def serve(signs: Authority = authority, password: str = PASSWORD) -> EmbeddedCluster:
        if running:
            running.pop().close()
        user = f'{SCRAM} required user_alice="{password}";'
        keystore = {"ssl.keystore.location": str(signs.issue("broker.pem", "127.0.0.1"))}
        running.append(EmbeddedCluster.start({**own, **keystore, LISTENER: user}, ThreadRuntime()))
        return running[0]

    yield serve
    running.pop().close()


def client(ca: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(ca),
    }


def await_refusal(caplog: pytest.LogCaptureFixture, reason: str) -> None:
    """Return once the broker has turned a client away."""
    runtime = ThreadRuntime()
    deadline = runtime.now() + 60
    while not any(reason in line for line in caplog.messages):
        assert runtime.now() < deadline, "nobody was refused"
        runtime.sleep(0.01)


@pytest.mark.parametrize(
    ("backend", "change"), [("memory", "authority"), ("memory", "password"), ("confluent", "password")]
)
def test_tasks_go_on_when_what_was_refused_is_right_again(
    served: Served,
    authority: Authority,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    backend: str,
    change: str,
) -> None:
    """SEC-36: no task fails, and no record is lost or repeated."""
    caplog.set_level(logging.INFO, NETWORK)
    other, ca = Authority.make(tmp_path / "other", "another authority"), tmp_path / "ca.pem"
    ca.write_bytes(authority.ca.read_bytes())
    cluster = Cluster(served().bootstrap_servers, properties=client(ca))
    settings = HarnessSettings("renewed", tmp_path, 0, 60.0)
    with EosHarness(cluster, backend, settings) as eos:
        run = eos.create_run(CounterConnector, MANY)
        run.group.put(run.name, run.properties)
        run.group.until_records(10)
        if change == "authority":
            served(other)
            await_refusal(caplog, "closed: no TLS")
            ca.write_bytes(other.ca.read_bytes())
        else:
            served(password="another one")
            await_refusal(caplog, "due to invalid credentials")
            served()
        run.group.until_records(100)
        failures = run.group.failures()
        run.group.stop()
        eos.assert_exactly_once(run, run.source_records())

    assert failures == []


def test_a_password_that_is_changed_by_request_is_reported_in_the_status_until_it_fits_again(
    served: Served, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-36, SEC-40: connections that are open stay, so the broker drops them here."""
    caplog.set_level(logging.INFO, NETWORK)
    embedded = served()
    cluster = Cluster(embedded.bootstrap_servers, properties={**client(authority.ca), **HASTY})
    with EosHarness(cluster, "memory", HarnessSettings("changed", tmp_path, 0, 60.0)) as eos:
        run = eos.create_run(CounterConnector, ONE)
        run.group.put(run.name, run.properties)
        run.group.until_records(10)
        set_password(embedded, "another one")
        embedded.broker.restart()
        await_refusal(caplog, "due to invalid credentials")
        run.group.until(lambda: any(map(is_refused, run.group.tasks())), "a task that is refused")
        set_password(embedded, PASSWORD)
        run.group.until_records(100)
        failures = run.group.failures()
        run.group.stop()
        eos.assert_exactly_once(run, run.source_records())

    assert failures == []


def is_refused(task: TaskStatus) -> bool:
    """Whether the status says why the task waits."""
    return "refused user 'alice' with SCRAM-SHA-256" in (task.waiting or "")


def set_password(cluster: EmbeddedCluster, password: str) -> None:
    """Give alice another password, as an administrator does."""
    mechanism, salt = ScramMechanism.SCRAM_SHA_256, b"0123456789abcdef"
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, MIN_ITERATIONS)
    credential = ScramCredential.from_salted_password(mechanism, salted, salt, MIN_ITERATIONS)
    cluster.broker.act(lambda: cluster.broker.scram.alter({ScramCredentialKey("alice", mechanism): credential}))


def test_a_file_is_read_again_when_it_has_changed_and_not_when_it_is_half_written(
    authority: Authority, tmp_path: Path
) -> None:
    """SEC-36: for connections from then on; those that are open stay."""
    file = tmp_path / "client.pem"
    file.write_bytes(authority.issue("one.pem", "alice").read_bytes())
    location = {"certificate_location": str(file), "key_location": str(file)}
    tls = TlsContext(SecuritySettings(protocol=SecurityProtocol.SSL, ca_location=str(authority.ca), **location))

    first, again = tls.current(), tls.current()
    renewed = authority.issue("two.pem", "alice").read_bytes()
    file.write_bytes(renewed[:100])
    meanwhile = tls.current()
    file.write_bytes(renewed)

    assert first is again is meanwhile
    assert tls.current() is not first
