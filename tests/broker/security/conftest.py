"""A throw-away authority, and an embedded broker with a listener of each kind."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster

PASSWORD = "x9-sésame=;\"quoted'"
ESCAPED = PASSWORD.replace('"', '\\"')
USERS = f'user_alice="{ESCAPED}" user_bob="other";'
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True)
class Authority:
    """Files in PEM: the authority, a broker's keystore for 127.0.0.1 and localhost, a client's."""

    authority: str
    broker: str
    client: str
    elsewhere: str
    """A broker's keystore for another host."""


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder, made = tmp_path_factory.mktemp("authority"), trustme.CA()
    made.cert_pem.write_to_path(folder / "ca.pem")
    certificates = {
        "broker": made.issue_cert("127.0.0.1", "localhost"),
        "client": made.issue_cert("alice@example.org"),
        "elsewhere": made.issue_cert("elsewhere.example.org"),
    }
    for name, each in certificates.items():
        each.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
    return Authority(str(folder / "ca.pem"), *(str(folder / f"{name}.pem") for name in certificates))


def users(listener: str) -> dict[str, str]:
    """Alice and Bob for each mechanism of a listener."""
    modules = {"PLAIN": "plain.PlainLoginModule"}
    return {
        f"listener.name.{listener.lower()}.{name.lower()}.sasl.jaas.config": (
            f"org.apache.kafka.common.security.{modules.get(name, 'scram.ScramLoginModule')} required {USERS}"
        )
        for name in MECHANISMS
    }


@pytest.fixture(scope="module")
def secured(authority: Authority) -> Iterator[EmbeddedCluster]:
    """A broker with four listeners; SSL wants a certificate."""
    properties = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.location": authority.broker,
        "ssl.truststore.location": authority.authority,
        "ssl.client.auth": "required",
        "connection.failed.authentication.delay.ms": "0",
    }
    cluster = EmbeddedCluster.start(properties | users("SASL_PLAINTEXT") | users("SASL_SSL"), ThreadRuntime())
    yield cluster
    cluster.close()


def trusting(authority: Authority) -> ssl.SSLContext:
    """The context of a client that knows the authority."""
    return ssl.create_default_context(cafile=authority.authority)


def text(path: str) -> str:
    return Path(path).read_text()
