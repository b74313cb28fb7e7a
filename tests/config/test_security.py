"""Kafka's names and librdkafka's of security properties have one meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from eosfw.config.security import SecurityProtocol, SecuritySettings, layered, security_settings
from eosfw.errors import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, str]:
    """Files that begin as those of each type do."""
    texts = {"PEM": b"-----BEGIN CERTIFICATE-----", "PKCS12": b"\x30\x82\x01\x00", "JKS": b"\xfe\xed\xfe\xed\x00"}
    for kind, data in texts.items():
        (tmp_path / kind).write_bytes(data)
    return {kind: str(tmp_path / kind) for kind in texts}


def test_javas_names_and_librdkafkas_mean_the_same(stores: dict[str, str]) -> None:
    """SEC-12."""
    javas = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="alice" password="pa ss\\"word";',
        "ssl.truststore.location": stores["PEM"],
        "ssl.truststore.type": "PEM",
        "ssl.keystore.location": stores["PEM"],
        "ssl.keystore.type": "PEM",
        "ssl.endpoint.identification.algorithm": "",
    }
    librdkafkas = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": 'pa ss"word',
        "ssl.ca.location": stores["PEM"],
        "ssl.certificate.location": stores["PEM"],
        "ssl.key.location": stores["PEM"],
        "ssl.endpoint.identification.algorithm": "none",
    }

    assert security_settings(javas) == security_settings(librdkafkas)
    assert security_settings(javas).protocol is SecurityProtocol.SASL_SSL


def test_nothing_given_is_kafkas_default() -> None:
    assert security_settings({"linger.ms": "5"}) == SecuritySettings()


@pytest.mark.parametrize(("kind", "field"), [("PEM", "ca_location"), ("PKCS12", "truststore_location")])
def test_the_type_of_a_store_is_seen_in_its_file(stores: dict[str, str], kind: str, field: str) -> None:
    found = security_settings({"ssl.truststore.location": stores[kind]})

    assert getattr(found, field) == stores[kind]


@pytest.mark.parametrize("name", ["ssl.truststore.location", "ssl.keystore.location"])
def test_a_store_that_only_java_reads_is_refused_with_the_command_that_converts_it(
    stores: dict[str, str], name: str
) -> None:
    with pytest.raises(ConfigError, match=r"keytool -importkeystore .* -deststoretype PKCS12"):
        security_settings({name: stores["JKS"]})


@pytest.mark.parametrize(
    "line",
    [
        f'{PLAIN} required username="alice" password="s3cret"',
        f'{PLAIN} required username="alice";',
        f'{PLAIN} username="alice" password="s3cret";',
        'com.example.OtherLoginModule required username="alice" password="s3cret";',
        f'{PLAIN} required username="alice" password="s3cret"; {PLAIN} required;',
        "s3cret",
        "",
    ],
)
def test_a_jaas_line_that_cannot_be_read_is_refused_without_being_shown(line: str) -> None:
    with pytest.raises(ConfigError, match=r"Invalid value \[hidden\] for configuration sasl\.jaas\.config") as refused:
        security_settings({"sasl.jaas.config": line})

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        f"{PLAIN} required username='al ice' password='x=y';",
        f" {PLAIN}  optional\n username=\"al ice\"\n password='x=y' ;\n",
    ],
)
def test_a_jaas_line_may_be_quoted_as_in_java(line: str) -> None:
    found = security_settings({"sasl.jaas.config": line})

    assert (found.username, found.password) == ("al ice", "x=y")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"security.protocol": "TLS"}, "it must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"ssl.truststore.type": "BKS"}, "it must be one of PEM, PKCS12, JKS"),
        ({"sasl.mechanism": "PLAIN", "sasl.mechanisms": "GSSAPI"}, "mean the same, but their values differ"),
        ({"ssl.ca.location": "a", "ssl.truststore.location": "b"}, "give one of ssl.ca.location"),
        (
            {"sasl.jaas.config": f"{PLAIN} required username=a password=s3cret;", "sasl.password": "0ther"},
            "sasl.jaas.config and sasl.username or sasl.password differ",
        ),
    ],
)
def test_properties_that_contradict_each_other_are_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        security_settings(given)

    assert why in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_connectors_own_credentials_replace_those_of_the_worker_under_whatever_name() -> None:
    worker = {"sasl.username": "worker", "sasl.password": "one", "ssl.ca.location": "/ca.pem"}
    own = {"sasl.jaas.config": f"{PLAIN} required username=mine password=two;", "ssl.truststore.certificates": "PEM"}

    found = security_settings(layered(worker, own))

    assert (found.username, found.password, found.ca_location, found.ca_pem) == ("mine", "two", "", "PEM")


def test_no_text_of_the_settings_shows_a_secret(stores: dict[str, str]) -> None:
    """SEC-13."""
    secrets = {
        "sasl.password": "s3cret-1",
        "ssl.key.password": "s3cret-2",
        "ssl.key.pem": "s3cret-3",
        "ssl.keystore.password": "s3cret-4",
        "ssl.truststore.password": "s3cret-5",
        "ssl.truststore.location": stores["PKCS12"],
        "ssl.keystore.location": stores["PKCS12"],
    }

    shown = repr(security_settings(secrets))

    assert stores["PKCS12"] in shown
    assert "s3cret" not in shown
