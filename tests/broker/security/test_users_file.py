"""Users of a listener stand in a file, which is read again when it has changed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.addresses import parse_addresses
from eosfw.config.security import security_settings
from eosfw.errors import ConfigError, SaslAuthenticationError
from eosfw.security import check_connection
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.security.scram_credential import ScramMechanism
from eosfw_memory.server.security.scram_server import ScramCredentials

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROPERTIES = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "connection.failed.authentication.delay.ms": "0",
}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.properties"
    path.write_text("# who may log in\nalice=one\nbob = b\\=b\n")
    return path


@pytest.fixture
def cluster(users: Path) -> Iterator[EmbeddedCluster]:
    with closing(EmbeddedCluster.start({**PROPERTIES, "eosfw.users.file": str(users)}, ThreadRuntime())) as serving:
        yield serving


def let_in(cluster: EmbeddedCluster, user: str, password: str) -> list[str]:
    """The mechanisms by which a new connection is let in."""
    servers = cluster.bootstrap_servers
    (address,) = parse_addresses(servers)
    client = {"bootstrap.servers": servers, "security.protocol": "SASL_PLAINTEXT", "sasl.username": user}
    found = []
    for mechanism in MECHANISMS:
        settings = security_settings({**client, "sasl.password": password, "sasl.mechanism": mechanism})
        try:
            check_connection(address, settings, 30.0)
        except SaslAuthenticationError:
            continue
        found.append(mechanism)
    return found


def test_users_are_those_that_the_file_names_now(cluster: EmbeddedCluster, users: Path) -> None:
    """SEC-43: a user who is added, one who is removed, another password."""
    assert [let_in(cluster, *each) for each in (("alice", "one"), ("bob", "b=b"))] == [list(MECHANISMS)] * 2
    assert [let_in(cluster, *each) for each in (("alice", "two"), ("carol", "three"))] == [[], []]

    users.write_text("alice=two-é\ncarol=three\n")

    assert [let_in(cluster, *each) for each in (("alice", "two-é"), ("carol", "three"))] == [list(MECHANISMS)] * 2
    assert [let_in(cluster, *each) for each in (("alice", "one"), ("bob", "b=b"))] == [[], []]


def test_a_file_that_cannot_be_read_any_more_leaves_the_users_as_they_were_with_one_warning(
    cluster: EmbeddedCluster, users: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-43: without a password."""
    users.write_text("alice=\nbob=another-secret\n")
    assert let_in(cluster, "alice", "one") == list(MECHANISMS)
    users.unlink()
    assert let_in(cluster, "bob", "b=b") == list(MECHANISMS)

    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2
    assert "user 'alice' has no password" in warnings[0]
    assert "cannot be read: No such file" in warnings[1]
    assert "secret" not in "".join(warnings)


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (b"alice=s3cret\nalice=s3cret2\n", {}, "line 2 gives 'alice' a second time"),
        (b"=s3cret", {}, "line 1 has no name before its value"),
        (b"alice=s3cret\xff", {}, "is not text in UTF-8"),
        (b"alice=s3cret\nbob=", {}, "user 'bob' has no password"),
        (
            b"alice=s3cret",
            {"listener.name.sasl_plaintext.plain.sasl.jaas.config": 'PlainLoginModule required user_a="s3cret";'},
            "eosfw.users.file names the users: leave one of them out",
        ),
    ],
)
def test_a_broker_does_not_start_with_users_that_are_not_clear(
    users: Path, content: bytes, more: dict[str, str], message: str
) -> None:
    """SEC-43: and SEC-22, without a password."""
    users.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start({**PROPERTIES, "eosfw.users.file": str(users), **more}, ThreadRuntime())

    assert message in str(refused.value)
    assert "s3cret" not in repr(refused.value)


def test_each_listener_may_have_a_file_of_its_own(users: Path, tmp_path: Path) -> None:
    """SEC-43."""
    other = tmp_path / "other"
    other.write_text("carol=three\n")
    properties = {
        **PROPERTIES,
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,OTHER:SASL_PLAINTEXT",
        "eosfw.users.file": str(users),
        "listener.name.other.eosfw.users.file": str(other),
    }
    with closing(EmbeddedCluster.start(properties, ThreadRuntime())) as cluster:
        cluster.bootstrap_servers = cluster.endpoints["OTHER"]

        assert let_in(cluster, "carol", "three") == list(MECHANISMS)
        assert let_in(cluster, "alice", "one") == []


def test_the_challenge_of_a_user_stays_the_same_when_others_change() -> None:
    """SEC-23: else it would tell users from names without one, whose challenge always stays the same."""
    credentials = ScramCredentials(ScramMechanism.SCRAM_SHA_256, {"alice": "one", "bob": "two"})
    before = {name: credentials.lookup(name) for name in ("alice", "bob", "nobody")}
    credentials.update({"alice": "one", "bob": "three"})

    assert credentials.lookup("alice") == before["alice"]
    assert credentials.lookup("nobody") == before["nobody"]
    assert credentials.lookup("bob") != before["bob"]
