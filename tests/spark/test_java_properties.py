"""A cluster's properties in the words of Java's clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from eosfw.errors import StepFailedError
from eosfw_spark.steps.spark_kafka import java_properties

COMMITTED = {"isolation.level": "read_committed"}


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_only_committed_records_are_asked_for(level: str) -> None:
    assert java_properties({"isolation.level": level}) == COMMITTED


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-512", "scram.ScramLoginModule")],
)
def test_name_and_password_become_a_login_module(mechanism: str, module: str) -> None:
    given = {"sasl.mechanism": mechanism, "sasl.username": "me", "sasl.password": 'a"b\\c'}

    assert java_properties(given) == {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'org.apache.kafka.common.security.{module} required username="me" password="a\\"b\\\\c";',
        **COMMITTED,
    }


def test_pem_files_are_given_as_texts(tmp_path: Path) -> None:
    names = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")
    for name in names:
        (tmp_path / name).write_text(f"-- {name} --")

    assert java_properties({name: str(tmp_path / name) for name in names} | {"ssl.key.password": "p"}) == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "-- ssl.ca.location --",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "-- ssl.certificate.location --",
        "ssl.keystore.key": "-- ssl.key.location --",
        "ssl.key.password": "p",
        **COMMITTED,
    }


def test_a_missing_pem_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepFailedError, match=r"ssl\.ca\.location: .*nowhere\.pem cannot be read"):
        java_properties({"ssl.ca.location": str(tmp_path / "nowhere.pem")})


def test_what_spark_decides_is_left_to_it() -> None:
    assert java_properties({"auto.offset.reset": "latest", "fetch.min.bytes": "1"}) == {
        "fetch.min.bytes": "1",
        **COMMITTED,
    }
