"""Properties of listeners: what is read, what is refused, what is never shown."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.security import sasl_mechanisms

from .conftest import ESCAPED, PASSWORD, Authority, text, users

ALICE = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": "PLAIN"}
KEY = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"listeners": "HOME://127.0.0.1:0"}, "no security protocol for the listener HOME"),
        (
            {"listeners": "A://127.0.0.1:0", "listener.security.protocol.map": "A:TLS"},
            "'TLS' is not served; there are PLAI",
        ),
        ({"listeners": "PLAINTEXT://:1,127.0.0.1:2"}, "the listener PLAINTEXT stands there twice"),
        ({"advertised.listeners": "SSL://example.org:1"}, "there is no listener SSL in listeners"),
        ({"sasl.enabled.mechanisms": ""}, "needs some of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "'GSSAPI' is not served; there are PLAIN"),
        ({KEY: ""}, "it is not written MODULE required"),
        ({KEY: f"{MODULE} user_alice=\"{ESCAPED}\" user_bob='';"}, "user 'bob' needs a name and a password"),
        ({KEY: f'other.Module required user_alice="{ESCAPED}";'}, "the login module of PLAIN is PlainLoginModule"),
        ({KEY: f'{MODULE} user_alice="{ESCAPED}'}, "semicolon"),
        ({KEY.replace("plain.sasl", "scram-sha-256.sasl"): "x"}, "its mechanism is not in sasl.enabled.mechanisms"),
        ({KEY.replace("sasl_plaintext", "other"): "x"}, "there is no listener of this name"),
        ({"listener.name.sasl_plaintext.ssl.keystore.locaton": "x"}, "did you mean 'ssl.keystore.location'"),
        ({"listeners": "SASL_SSL://127.0.0.1:0"}, "it is missing; name the users: PlainLoginModule required"),
    ],
)
def test_a_wrong_property_of_a_listener_is_named_without_a_secret(changed, message):
    """SEC-22."""
    given = {**ALICE, KEY: f'{MODULE} user_alice="{ESCAPED}";', **changed}
    if "SASL_PLAINTEXT" not in given["listeners"]:
        del given[KEY]
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start(given, ThreadRuntime())

    assert message in str(refused.value)
    assert PASSWORD not in repr(refused.value)
    assert ESCAPED not in repr(refused.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, "ssl.keystore.location: listener SSL needs a certificate"),
        ({"ssl.keystore.location": "/nowhere.pem"}, "/nowhere.pem cannot be read: No such file"),
        ({"ssl.keystore.location": "{authority}"}, "holds no private key with its certificate in PEM"),
        (
            {"ssl.keystore.key": "{broker}", "ssl.keystore.certificate.chain": "junk"},
            "ssl.keystore.certificate.chain: ",
        ),
        ({"ssl.keystore.location": "{broker}", "ssl.client.auth": "required"}, "name the authorities of clients"),
        (
            {"ssl.keystore.location": "{broker}", "ssl.client.auth": "always"},
            "must be one of: none, requested, required",
        ),
        ({"ssl.keystore.location": "{broker}", "ssl.enabled.protocols": "SSLv3"}, "'SSLv3' is not served"),
        ({"ssl.keystore.location": "{broker}", "ssl.keystore.type": "JKS"}, "PEM"),
        (
            {"ssl.keystore.location": "{broker}", "ssl.client.auth": "requested", "ssl.truststore.location": "{key}"},
            "holds no certificates in PEM",
        ),
    ],
)
def test_a_wrong_property_of_tls_is_named(authority: Authority, tmp_path, changed, message):
    """SEC-20."""
    (tmp_path / "key").write_text(text(authority.broker).split("-----BEGIN CERTIFICATE")[0])
    paths = {"{authority}": authority.authority, "{broker}": authority.broker, "{key}": str(tmp_path / "key")}
    given = {name: paths.get(value, value) for name, value in changed.items()}
    with pytest.raises(ConfigError) as refused:
        EmbeddedCluster.start({"listeners": "SSL://127.0.0.1:0", **given}, ThreadRuntime())

    assert message in str(refused.value)


def test_settings_show_no_secret(authority: Authority):
    """SEC-22."""
    key, certificate = text(authority.broker), text(authority.authority)
    given = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": certificate,
        "ssl.key.password": PASSWORD,
    }
    settings = Settings.parse(given | users("SASL_SSL"))

    shown = f"{settings} {settings.listeners} {settings.listeners[0].tls} {settings.described()}"
    assert PASSWORD not in shown
    assert "user_alice" not in shown
    assert "PRIVATE KEY" not in shown


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"listeners": "PLAINTEXT://127.0.0.1:0,SSL://192.0.2.1:0"}, "192.0.2.1 can be reached from other machines"),
        ({"listeners": "SASL_PLAINTEXT://0.0.0.0:0"}, "0.0.0.0 is no address to connect to"),
        (
            {
                "listeners": "SASL_PLAINTEXT://0.0.0.0:0,PLAINTEXT://0.0.0.0:0",
                "advertised.listeners": "SASL_PLAINTEXT://h:1",
            },
            "0.0.0.0 can be reached from other machines, without any authentication",
        ),
    ],
)
def test_a_listener_without_authentication_is_open_to_others_only_where_it_is_advertised(
    authority, properties, message
):
    """SEC-21: another listener's address does not do."""
    given = {"ssl.keystore.location": authority.broker, "sasl.enabled.mechanisms": "PLAIN", **properties}
    if "SASL_PLAINTEXT" in properties["listeners"]:
        given[KEY] = f'{MODULE} user_alice="x";'
    with pytest.raises(ConfigError, match=message):
        EmbeddedCluster.start(given, ThreadRuntime())


def test_a_listener_of_its_own_name_has_properties_of_its_own(authority: Authority):
    """SEC-20: by `listener.name.NAME.` before the property, the only way for ssl.client.auth with SASL."""
    given = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
        "listener.security.protocol.map": "INSIDE:SSL,OUTSIDE:SASL_SSL,SASL_SSL:SASL_SSL",
        "ssl.client.auth": "requested",
        "listener.name.inside.ssl.client.auth": "required",
        "listener.name.outside.ssl.client.auth": "required",
        "listener.name.outside.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.outside.scram-sha-512.sasl.jaas.config": 'ScramLoginModule required user_a="b";',
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{MODULE} user_a="b";',
        "ssl.keystore.location": authority.broker,
    }
    inside, outside, last = Settings.parse(given).listeners

    assert [inside.tls.client_auth, outside.tls.client_auth, last.tls.client_auth] == ["required", "required", "none"]
    assert [list(each.mechanisms) for each in (inside, outside, last)] == [[], ["SCRAM-SHA-512"], ["PLAIN"]]


def test_scram_without_its_package_is_refused_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(sasl_mechanisms, "find_spec", lambda _: None)
    given = {**ALICE, "sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    line = {KEY.replace("plain.sasl", "scram-sha-256.sasl"): 'ScramLoginModule required user_a="b";'}
    with pytest.raises(ConfigError, match=r"pip install 'eosfw-memory\[sasl\]'"):
        Settings.parse(given | line)
