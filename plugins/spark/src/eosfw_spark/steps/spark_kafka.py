"""The properties of a cluster as Spark's own Kafka source takes them, whose clients are Java's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eosfw.errors import StepFailedError
from eosfw.protocols import IsolationLevel
from eosfw_spark.source.options import ISOLATION

FORMAT: Final = "kafka"
"""Spark's own Kafka source, which shows uncommitted records unless it is told otherwise."""
_LOGIN_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_OTHERWISE: Final = (
    "sasl.username",
    "sasl.password",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
)
"""What Java's clients have other properties for."""
_SPARKS: Final = ("auto.offset.reset", "enable.auto.commit", "interceptor.classes")
"""What Spark decides, and refuses to be told."""


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties for Java's clients; they read what is committed, whatever was said."""
    kept = {name: value for name, value in properties.items() if name not in (*_OTHERWISE, *_SPARKS)}
    if "ssl.keystore.location" in kept:
        kept.setdefault("ssl.keystore.type", "PKCS12")
    return {**kept, **_sasl(properties), **_tls(properties), ISOLATION: IsolationLevel.READ_COMMITTED.value}


def _sasl(properties: Mapping[str, str]) -> dict[str, str]:
    module = _LOGIN_MODULES.get(properties.get("sasl.mechanism", "").upper())
    if module is None or "sasl.username" not in properties:
        return {}
    user, password = (_quoted(properties.get(name, "")) for name in ("sasl.username", "sasl.password"))
    return {"sasl.jaas.config": f"{module} required username={user} password={password};"}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _tls(properties: Mapping[str, str]) -> dict[str, str]:
    """PEM files as texts: executors may lack the files, and Java wants key and certificate in one place."""
    found: dict[str, str] = {}
    if "ssl.ca.location" in properties:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _text(properties, "ssl.ca.location")}
    if "ssl.certificate.location" in properties:
        found |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _text(properties, "ssl.certificate.location"),
            "ssl.keystore.key": _text(properties, "ssl.key.location"),
        }
    return found


def _text(properties: Mapping[str, str], name: str) -> str:
    place = properties.get(name)
    if place is None:
        raise StepFailedError(f"property {name} is missing, which belongs to ssl.certificate.location")
    try:
        return Path(place).read_text()
    except (OSError, UnicodeDecodeError) as why:
        raise StepFailedError(f"{name}: {place} cannot be read as a PEM file: {why}") from None
