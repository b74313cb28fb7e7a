"""`eosfw.tls.auto`: an authority, certificates and a user that end with the broker."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw.test_support import SecuredCluster
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.security import throwaway

AUTO = {"eosfw.tls.auto": "true"}


def start(**properties: str) -> EmbeddedCluster:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return EmbeddedCluster.start(AUTO | given, ThreadRuntime())


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch) -> Path:
    """Where brokers of this test keep their files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "properties",
    [
        {"listeners": "SASL_SSL://127.0.0.1:0"},
        {"listeners": "SASL_PLAINTEXT://localhost:0", "sasl.enabled.mechanisms": "PLAIN"},
        {"listeners": "SSL://127.0.0.1:0", "ssl.client.auth": "required"},
        {"listeners": "SSL://127.0.0.1:0"},
        {"listeners": "IN://127.0.0.1:0,SSL://127.0.0.1:0", "listener.security.protocol.map": "IN:SASL_SSL,SSL:SSL"},
        {"listeners": "PLAINTEXT://127.0.0.1:0"},
        {"listeners": "SASL_SSL://0.0.0.0:0", "advertised.listeners": "SASL_SSL://localhost:0"},
    ],
    ids=str,
)
def test_a_client_with_the_properties_that_it_gives_is_let_in(properties, folders):
    """SEC-29: and nothing of it is left."""
    cluster = EmbeddedCluster.start(AUTO | properties, ThreadRuntime())
    assert isinstance(cluster, SecuredCluster)
    given = {"bootstrap.servers": cluster.bootstrap_servers, **cluster.client_properties}
    backend = MemoryBackend.connect({**given, "eosfw.transport": "socket"}, ThreadRuntime())
    assert backend.admin().partitions() == {}
    modes = {stat.S_IMODE(os.stat(each).st_mode) for each in folders.iterdir()}
    backend.close()
    cluster.close()

    assert modes == {0o700}
    assert list(folders.iterdir()) == []


def test_two_brokers_have_nothing_in_common():
    """SEC-29."""
    first, second = start(listeners="SASL_SSL://127.0.0.1:0"), start(listeners="SASL_SSL://127.0.0.1:0")
    one, other = dict(first.client_properties), dict(second.client_properties)
    authorities = [Path(each["ssl.truststore.location"]).read_text() for each in (one, other)]
    first.close()
    second.close()

    assert one["sasl.jaas.config"] != other["sasl.jaas.config"]
    assert authorities[0] != authorities[1]
    assert "password" not in repr(first._throwaway)


def test_users_that_are_named_stay_and_their_passwords_are_not_guessed():
    """SEC-29: what is given wins."""
    line = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="own";'
    given = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": line,
    }
    cluster = EmbeddedCluster.start(AUTO | given, ThreadRuntime())
    found = dict(cluster.client_properties)
    cluster.close()

    assert found == {"security.protocol": "SASL_PLAINTEXT"}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"ssl.keystore.location": "/own.pem"},
            "it makes keys and certificates: leave it out, or ssl.key",
        ),
        ({"listeners": "HOME://127.0.0.1:0"}, "no security protocol for the listener HOME"),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "'GSSAPI' is not served"),
    ],
)
def test_a_start_that_fails_leaves_no_files(properties, message, folders):
    """SEC-29."""
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start({**AUTO, "listeners": "SASL_SSL://127.0.0.1:0", **properties}, ThreadRuntime())

    assert message in str(refused.value)
    assert list(folders.iterdir()) == []


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    """SEC-29."""
    monkeypatch.setattr(throwaway, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'eosfw-memory\[tls\]'"):
        start(listeners="SSL://127.0.0.1:0")
