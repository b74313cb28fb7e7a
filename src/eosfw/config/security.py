"""The security properties of Kafka's clients: Kafka's names and librdkafka's, with one meaning for every backend.

A backend asks a `Translator` with its own function from `SecuritySettings` to the arguments of its library. What the
properties mean is decided here, so that a file works with whichever backend it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from eosfw.config import oauthbearer
from eosfw.config.jaas import JaasError, jaas_credentials
from eosfw.config.oauthbearer import OAuthBearerSettings
from eosfw.errors import ConfigError, Problem

__all__ = [
    "SECURITY_NAMES",
    "OAuthBearerSettings",
    "SecurityProtocol",
    "SecuritySettings",
    "canonical",
    "layered",
    "security_settings",
]

_PROTOCOL: Final = "security.protocol"
_JAAS: Final = "sasl.jaas.config"
_TRUSTSTORE: Final = "ssl.truststore.location"
_KEYSTORE: Final = "ssl.keystore.location"
_HOST_NAME: Final = "ssl.endpoint.identification.algorithm"
_VERIFICATION: Final = "enable.ssl.certificate.verification"
_JKS: Final = b"\xfe\xed\xfe\xed"
_PEM: Final = b"-----BEGIN"

_RENAMED: Final[Mapping[str, str]] = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    **oauthbearer.RENAMED,
}
"""Names that mean the same as another one."""
_CREDENTIALS: Final = ("sasl.username", "sasl.password")
_TRUST: Final = ("ssl.ca.location", "ssl.ca.pem", _TRUSTSTORE, "ssl.truststore.type", "ssl.truststore.password")
_KEY: Final = (
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    _KEYSTORE,
    "ssl.keystore.type",
    "ssl.keystore.password",
)
_GROUPS: Final = (_CREDENTIALS, _TRUST, _KEY, oauthbearer.CREDENTIALS, oauthbearer.TRUST)
"""Properties that belong together: a layer that names what one of them leads to replaces all of them."""
_LEADING: Final = frozenset(
    {"sasl.username", "ssl.ca.location", "ssl.ca.pem", _TRUSTSTORE, "ssl.certificate.location", "ssl.certificate.pem"}
    | {_KEYSTORE, oauthbearer.CLIENT_ID, *oauthbearer.TRUST}
)
SECURITY_NAMES: Final = frozenset(
    {_PROTOCOL, "sasl.mechanism", _JAAS, *_RENAMED, *_CREDENTIALS, *_TRUST, *_KEY}
    | {_HOST_NAME, _VERIFICATION, "ssl.cipher.suites", *oauthbearer.NAMES}
)
"""Every name that `security_settings` understands."""


class SecurityProtocol(Enum):
    """Kafka's `SecurityProtocol`."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def sasl(self) -> bool:
        """Whether clients say who they are by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """What the security properties of one client mean; its secrets are in no text of it."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    oauthbearer: OAuthBearerSettings = field(default_factory=OAuthBearerSettings)
    """Those of the mechanism OAUTHBEARER."""
    ca_location: str = ""
    """A PEM file, or a folder, with the certificates of authorities."""
    ca_pem: str = field(default="", repr=False)
    truststore_location: str = ""
    """A PKCS#12 file with the certificates of authorities."""
    truststore_password: str = field(default="", repr=False)
    certificate_location: str = ""
    certificate_pem: str = field(default="", repr=False)
    key_location: str = ""
    key_pem: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    keystore_location: str = ""
    """A PKCS#12 file with the client's key and certificate."""
    keystore_password: str = field(default="", repr=False)
    verifies_certificate: bool = True
    checks_host_name: bool = True
    ciphers: str = ""


def canonical(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with one name for each meaning; ConfigError for a value that cannot be. Others stay as they are.

    Whether a combination makes sense shows only when all layers are known: `security_settings`.
    """
    found: dict[str, str] = {}
    for name, text in properties.items():
        new = _RENAMED.get(name, name)
        if new in found and found[new] != text:
            raise ConfigError(Problem("", f"{name} and {new} mean the same, but their values differ; give one of them"))
        _check(name, text)
        found[new] = text
    if (line := found.pop(_JAAS, None)) is not None:
        credentials = _credentials(line)
        if any(found.get(name, text) != text for name, text in credentials.items()):
            raise ConfigError(Problem("", f"{_JAAS} and {' or '.join(credentials)} differ; give one of them"))
        found |= credentials
    return found


def layered(*layers: Mapping[str, str]) -> dict[str, str]:
    """Properties by their canonical names, of which those of a later layer win."""
    merged: dict[str, str] = {}
    for layer in map(canonical, layers):
        for group in _GROUPS:
            if any(name in _LEADING and name in layer for name in group):
                merged = {name: text for name, text in merged.items() if name not in group}
        merged |= layer
    return merged


def security_settings(properties: Mapping[str, str]) -> SecuritySettings:
    """What properties mean; ConfigError says which of them contradict each other, and shows no secret.

    Types of stores that are not given are seen in the files.
    """
    given = canonical(properties)
    texts = {name: given.get(name, "").strip() for name in (*_TRUST, *_KEY)}
    trust, key = _trust(texts), _key(texts)
    protocol, mechanism = _protocol(given.get(_PROTOCOL, "")), given.get("sasl.mechanism", "").strip().upper()
    tokens = OAuthBearerSettings()
    if protocol.sasl and mechanism == oauthbearer.MECHANISM:
        tokens = oauthbearer.oauthbearer_settings(given)
    return SecuritySettings(
        protocol=protocol,
        mechanism=mechanism,
        username=given.get("sasl.username", ""),
        password=given.get("sasl.password", ""),
        oauthbearer=tokens,
        verifies_certificate=given.get(_VERIFICATION, "true").strip().lower() != "false",
        checks_host_name=given.get(_HOST_NAME, "https").strip().lower() == "https",
        ciphers=given.get("ssl.cipher.suites", "").strip(),
        **trust,
        **key,
    )


def _trust(texts: Mapping[str, str]) -> dict[str, str]:
    location = texts[_TRUSTSTORE]
    if sum(bool(one) for one in (texts["ssl.ca.location"], texts["ssl.ca.pem"], location)) > 1:
        what = f"give one of ssl.ca.location, {_TRUSTSTORE}, ssl.truststore.certificates"
        raise ConfigError(Problem("", what))
    found = {"ca_location": texts["ssl.ca.location"], "ca_pem": texts["ssl.ca.pem"]}
    if location and _store_type(_TRUSTSTORE, location, texts["ssl.truststore.type"]) == "PEM":
        found["ca_location"] = location
    elif location:
        found |= {"truststore_location": location, "truststore_password": texts["ssl.truststore.password"]}
    return found


def _key(texts: Mapping[str, str]) -> dict[str, str]:
    found = {
        "certificate_location": texts["ssl.certificate.location"],
        "certificate_pem": texts["ssl.certificate.pem"],
        "key_location": texts["ssl.key.location"] or texts["ssl.certificate.location"],
        "key_pem": texts["ssl.key.pem"],
        "key_password": texts["ssl.key.password"],
    }
    location = texts[_KEYSTORE]
    if not location:
        return found
    if texts["ssl.certificate.location"] or texts["ssl.certificate.pem"]:
        raise ConfigError(Problem("", f"give {_KEYSTORE} or a certificate of its own, not both"))
    if _store_type(_KEYSTORE, location, texts["ssl.keystore.type"]) == "PEM":
        return found | {"certificate_location": location, "key_location": location}
    return found | {"keystore_location": location, "keystore_password": texts["ssl.keystore.password"]}


def _store_type(name: str, location: str, given: str) -> str:
    head = _head(location)
    if head.startswith(_JKS) or given.upper() == "JKS":
        raise ConfigError(
            Problem(
                "",
                f"{name}: {location} is a JKS store, which only Java reads; convert it: keytool -importkeystore "
                f"-srckeystore {location} -destkeystore NEW.p12 -deststoretype PKCS12",
            )
        )
    return given.upper() or ("PEM" if head.startswith(_PEM) else "PKCS12")


def _head(location: str) -> bytes:
    try:
        with Path(location).open("rb") as file:
            return file.read(len(_PEM))
    except OSError:  # whoever reads the store says so
        return b""


def _credentials(text: str) -> dict[str, str]:
    try:
        return jaas_credentials(text)
    except JaasError as why:
        raise ConfigError(Problem("", f"Invalid value [hidden] for configuration {_JAAS}: {why}")) from None


def _check(name: str, text: str) -> None:
    allowed: Mapping[str, tuple[str, ...]] = {
        _PROTOCOL: tuple(SecurityProtocol.__members__),
        "ssl.truststore.type": ("PEM", "PKCS12", "JKS"),
        "ssl.keystore.type": ("PEM", "PKCS12", "JKS"),
        _HOST_NAME: ("HTTPS", "NONE", ""),
        _VERIFICATION: ("TRUE", "FALSE"),
    }
    if name in allowed and text.strip().upper() not in allowed[name]:
        values = ", ".join(word.lower() if name in (_HOST_NAME, _VERIFICATION) else word for word in allowed[name])
        raise ConfigError(Problem("", f"Invalid value {text} for configuration {name}: it must be one of {values}"))
    oauthbearer.check(name, text)


def _protocol(text: str) -> SecurityProtocol:
    return SecurityProtocol(text.strip().upper() or "PLAINTEXT")
