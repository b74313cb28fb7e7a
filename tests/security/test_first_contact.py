"""What a first contact with a cluster says about TLS and SASL, and when it says nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from eosfw.concurrency import ThreadRuntime
from eosfw.config.addresses import Address
from eosfw.config.security import security_settings
from eosfw.errors import (
    AuthenticationError,
    ConfigError,
    SaslAuthenticationError,
    SslAuthenticationError,
    UnsupportedSaslMechanismError,
)
from eosfw.pipeline.definition.connectivity import require_reachable
from eosfw.security import FirstAuthentication, check_connection
from secured_kafka import PASSWORD, Authority

from .tiny_broker import REFUSAL, Judge, TinyBroker

Start = Callable[..., TinyBroker]


def sasl_ssl(broker: TinyBroker, authority: Authority, password: str = PASSWORD, **more: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.address,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
        "ssl.ca.location": str(authority.ca),
        **more,
    }


def ssl_only(broker: TinyBroker, authority: Authority, **more: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.address,
        "security.protocol": "SSL",
        "ssl.ca.location": str(authority.ca),
        **more,
    }


def refusal(properties: dict[str, str], runtime: ThreadRuntime) -> AuthenticationError:
    with pytest.raises(AuthenticationError) as refused:
        require_reachable(properties, runtime)
    return refused.value


def test_who_is_right_is_let_in(broker: Start, server_context: Any, authority: Authority, plain_login: Judge) -> None:
    require_reachable(sasl_ssl(broker(server_context(), plain_login), authority), ThreadRuntime())


def test_a_wrong_password_is_reported_in_the_brokers_words(
    broker: Start, server_context: Any, authority: Authority, plain_login: Judge, hasty: ThreadRuntime
) -> None:
    """SEC-10, SEC-13."""
    refused = refusal(sasl_ssl(broker(server_context(), plain_login), authority, "s3cret-guess"), hasty)

    assert isinstance(refused, SaslAuthenticationError)
    assert REFUSAL in str(refused)
    assert "'alice' with PLAIN" in str(refused)
    assert "s3cret-guess" not in repr(refused)


def test_a_mechanism_that_is_not_offered_is_reported_with_those_that_are(
    broker: Start, server_context: Any, authority: Authority, plain_login: Judge, hasty: ThreadRuntime
) -> None:
    properties = sasl_ssl(broker(server_context(), plain_login), authority) | {"sasl.mechanism": "SCRAM-SHA-256"}

    refused = refusal(properties, hasty)

    assert isinstance(refused, UnsupportedSaslMechanismError)
    assert "sasl.mechanism=SCRAM-SHA-256, it takes PLAIN" in str(refused)


def test_a_certificate_of_an_unknown_authority_is_reported_with_both_authorities(
    broker: Start, server_context: Any, tmp_path: Path, hasty: ThreadRuntime
) -> None:
    other = Authority.make(tmp_path, "another authority")

    refused = refusal(ssl_only(broker(server_context()), other), hasty)

    assert isinstance(refused, SslAuthenticationError)
    assert 'authority "eosfw\'s test authority"' in str(refused)
    assert f"not in the file {other.ca}" in str(refused)


def test_an_expired_certificate_is_reported_with_its_day(
    broker: Start, server_context: Any, authority: Authority, hasty: ThreadRuntime
) -> None:
    expired = server_context(until=datetime(2024, 2, 29, tzinfo=UTC))

    refused = refusal(ssl_only(broker(expired), authority), hasty)

    assert isinstance(refused, SslAuthenticationError)
    assert "expired on Feb 29 00:00:00 2024 GMT" in str(refused)


def test_a_wrong_host_name_is_reported_with_the_names_of_the_certificate(
    broker: Start, server_context: Any, authority: Authority, hasty: ThreadRuntime
) -> None:
    elsewhere = broker(server_context("kafka.example.com", "kafka-2.example.com"))

    refused = refusal(ssl_only(elsewhere, authority), hasty)

    assert "is for kafka.example.com, kafka-2.example.com, not for 127.0.0.1" in str(refused)
    require_reachable(ssl_only(elsewhere, authority, **{"ssl.endpoint.identification.algorithm": ""}), ThreadRuntime())


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_tls_to_a_listener_without_it_is_reported(
    broker: Start, authority: Authority, hasty: ThreadRuntime, protocol: str
) -> None:
    refused = refusal(sasl_ssl(broker(), authority) | {"security.protocol": protocol}, hasty)

    assert isinstance(refused, SslAuthenticationError)
    assert "speaks Kafka without TLS" in str(refused)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_a_client_without_tls_learns_that_the_listener_has_it(
    broker: Start, server_context: Any, authority: Authority, hasty: ThreadRuntime, protocol: str
) -> None:
    refused = refusal(sasl_ssl(broker(server_context()), authority) | {"security.protocol": protocol}, hasty)

    assert isinstance(refused, SslAuthenticationError)
    assert "answers with TLS: set security.protocol" in str(refused)


def test_each_client_without_security_properties_learns_that_the_listener_has_tls(
    broker: Start, server_context: Any, backend_class: type[Any], hasty: ThreadRuntime
) -> None:
    """SEC-10: the most frequent mistake: it would wait 30 s for a broker."""
    secured = {"bootstrap.servers": broker(server_context()).address}
    with closing(backend_class.connect(secured, hasty)) as backend, pytest.raises(SslAuthenticationError) as refused:
        backend.admin().partitions()

    assert "answers with TLS: set security.protocol" in str(refused.value)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_client_without_sasl_learns_that_the_listener_requires_it(
    broker: Start, server_context: Any, authority: Authority, plain_login: Judge, hasty: ThreadRuntime, protocol: str
) -> None:
    context = server_context() if protocol == "SSL" else None

    refused = refusal(ssl_only(broker(context, plain_login), authority) | {"security.protocol": protocol}, hasty)

    assert f"requires SASL (PLAIN): set security.protocol=SASL_{protocol}" in str(refused)


def test_a_client_with_sasl_learns_that_the_listener_has_none(
    broker: Start, server_context: Any, authority: Authority, hasty: ThreadRuntime
) -> None:
    refused = refusal(sasl_ssl(broker(server_context()), authority), hasty)

    assert "takes no SASL: set security.protocol=SSL" in str(refused)


def test_a_missing_client_certificate_is_reported_and_a_foreign_one(
    broker: Start, server_context: Any, authority: Authority, tmp_path: Path, hasty: ThreadRuntime
) -> None:
    demanding = broker(server_context(client_authority=authority.signs))
    foreign = Authority.make(tmp_path).issue("client.pem", "stranger")

    without = refusal(ssl_only(demanding, authority), hasty)
    refused = refusal(ssl_only(demanding, authority, **{"ssl.keystore.location": str(foreign)}), hasty)

    assert "requires a certificate of its clients" in str(without)
    assert f"refused this client's certificate ({foreign})" in str(refused)
    own = str(authority.issue("client.pem", "alice-client"))
    require_reachable(ssl_only(demanding, authority, **{"ssl.keystore.location": own}), ThreadRuntime())


def test_a_file_that_cannot_be_read_is_named_before_anybody_is_asked(authority: Authority, tmp_path: Path) -> None:
    properties = {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "nowhere.pem")}

    with pytest.raises(ConfigError, match=r"ssl\.ca\.location: .*nowhere\.pem cannot be read"):
        require_reachable({"bootstrap.servers": "127.0.0.1:9", **properties}, ThreadRuntime())


@pytest.mark.parametrize(
    ("key", "password", "reason"),
    [
        ("encrypted", "", "the key is encrypted: set ssl.key.password"),
        ("encrypted", "guess", "ssl.key.password is not the key's"),
        ("another", "", "the key is that of another certificate"),
        ("certificate", "", "no certificate and its key in PEM"),
    ],
)
def test_a_key_that_cannot_be_used_is_reported_with_what_is_wrong(
    authority: Authority, key: str, password: str, reason: str
) -> None:
    """Without any password, with a wrong one, with another certificate's key, with no key: each has its own remedy."""
    own = authority.issue("own.pem", "alice")
    files = {"another": authority.issue("another.pem", "bob"), "certificate": authority.ca}
    if key == "encrypted":
        readable = load_pem_private_key(own.read_bytes(), None)
        files[key] = authority.folder / "encrypted.pem"
        encryption = BestAvailableEncryption(PASSWORD.encode())
        files[key].write_bytes(readable.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    own_files = {
        "ssl.certificate.location": str(own),
        "ssl.key.location": str(files[key]),
        "ssl.key.password": password,
    }
    properties = {"security.protocol": "SSL", "ssl.ca.location": str(authority.ca), **own_files}

    with pytest.raises(ConfigError) as refused:
        require_reachable({"bootstrap.servers": "127.0.0.1:9", **properties}, ThreadRuntime())
    assert str(refused.value) == f"{own} and {files[key]}: {reason}"


# --- what is not final


def test_a_refusal_that_passes_is_none(broker: Start, authority: Authority, server_context: Any) -> None:
    """SEC-11: as of a broker that has not read its users yet."""
    answers = iter([False, True])
    starting = broker(server_context(), lambda _: next(answers))

    require_reachable(sasl_ssl(starting, authority), ThreadRuntime())

    assert next(answers, None) is None


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT", "SSL"])
def test_a_broker_that_closes_connections_refuses_nobody(
    broker: Start, authority: Authority, hasty: ThreadRuntime, protocol: str
) -> None:
    """SEC-11: as one that restarts does: clients wait for it."""
    restarting = broker()
    restarting.closes = True
    properties = sasl_ssl(restarting, authority) | {"security.protocol": protocol}

    require_reachable(properties, hasty)
    FirstAuthentication(properties, hasty).require()

    assert restarting.connections


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "PLAINTEXT"])
def test_an_address_that_does_not_answer_is_asked_once(protocol: str) -> None:
    """SEC-11: a second connection would be as silent, and its wait comes on top of the call's own."""
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(TimeoutError):
            check_connection(
                Address(*silent.getsockname()), security_settings({"security.protocol": protocol, **login}), 0.1
            )

        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_one_address_that_takes_the_client_is_enough(
    broker: Start, authority: Authority, server_context: Any, plain_login: Judge, hasty: ThreadRuntime
) -> None:
    strange, right = broker(server_context(), lambda _: False), broker(server_context(), plain_login)
    properties = sasl_ssl(right, authority) | {"bootstrap.servers": f"{strange.address},{right.address}"}

    require_reachable(properties, hasty)
    FirstAuthentication(properties, hasty).require()


def test_a_later_refusal_is_left_to_the_client(
    broker: Start, authority: Authority, server_context: Any, hasty: ThreadRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-11: passwords change and certificates are renewed while tasks run: clients try again."""
    answers = iter([True, False, False, False])
    changing = broker(server_context(), lambda _: next(answers))
    first = FirstAuthentication(sasl_ssl(changing, authority), hasty)

    first.require()
    later = hasty.now() + 10
    monkeypatch.setattr(hasty, "now", lambda: later)
    first.require()

    assert changing.connections == 1


def test_what_is_refused_at_first_is_asked_again(
    broker: Start, authority: Authority, server_context: Any, hasty: ThreadRuntime
) -> None:
    """A restarted task meets the users of the cluster as they are then."""
    answers = iter([False, False, True])
    first = FirstAuthentication(sasl_ssl(broker(server_context(), lambda _: next(answers)), authority), hasty)

    with pytest.raises(SaslAuthenticationError):
        first.require()
    first.require()


def test_a_minute_later_nothing_is_a_first_contact(
    broker: Start, authority: Authority, server_context: Any, hasty: ThreadRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may have reached a broker by itself, which this class is not told."""
    restarting = broker(server_context(), lambda _: False)
    restarting.closes = True
    first = FirstAuthentication(sasl_ssl(restarting, authority), hasty)
    first.require()
    restarting.closes = False
    later = hasty.now() + 61
    monkeypatch.setattr(hasty, "now", lambda: later)

    first.require()
