"""The client properties of SASL OAUTHBEARER with OIDC client credentials (KIP-768, KIP-1139)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from eosfw.errors import ConfigError, Problem

MECHANISM: Final = "OAUTHBEARER"
ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
CLIENT_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - the name of a property
SCOPE: Final = "sasl.oauthbearer.scope"
EXTENSIONS: Final = "sasl.oauthbearer.extensions"
CA_LOCATION: Final = "https.ca.location"
CA_PEM: Final = "https.ca.pem"
RENAMED: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.client.id": CLIENT_ID,
    "sasl.oauthbearer.client.secret": SECRET,
}
"""librdkafka's names of what Kafka 4.1 names otherwise."""
CREDENTIALS: Final = (CLIENT_ID, SECRET)
TRUST: Final = (CA_LOCATION, CA_PEM)
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    "sasl.oauthbearer.method": ("oidc",),
    "sasl.oauthbearer.grant.type": ("client_credentials",),
    "sasl.oauthbearer.jwt.retriever.class": (
        f"{_PACKAGE}.ClientCredentialsJwtRetriever",
        f"{_PACKAGE}.DefaultJwtRetriever",
    ),
    "sasl.login.callback.handler.class": (
        f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
        f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
    ),
}
"""What libraries must be told to ask a token endpoint, each with the values that mean just that."""
NAMES: Final = frozenset({ENDPOINT, SCOPE, EXTENSIONS, *CREDENTIALS, *TRUST, *RENAMED, *_FIXED})
"""Every name that `oauthbearer_settings` understands."""


@dataclass(frozen=True, slots=True)
class OAuthBearerSettings:
    """Where a client gets its tokens, and how it is known there; the secret is in no text of it."""

    token_endpoint: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    extensions: tuple[tuple[str, str], ...] = ()
    """What the broker is told beside the token (KIP-342)."""
    ca_location: str = ""
    """A PEM file, or a folder, with the authorities of the token endpoint."""
    ca_pem: str = field(default="", repr=False)


def oauthbearer_settings(given: Mapping[str, str]) -> OAuthBearerSettings:
    """What properties by their canonical names mean; ConfigError names what is missing."""
    texts = {name: given.get(name, "").strip() for name in (ENDPOINT, SCOPE, *CREDENTIALS, *TRUST)}
    if missing := [name for name in (ENDPOINT, *CREDENTIALS) if not texts[name]]:
        raise ConfigError(Problem("", f"sasl.mechanism={MECHANISM} needs {' and '.join(missing)}"))
    if texts[CA_LOCATION] and texts[CA_PEM]:
        raise ConfigError(Problem("", f"give one of {CA_LOCATION}, {CA_PEM}"))
    return OAuthBearerSettings(
        token_endpoint=texts[ENDPOINT],
        client_id=texts[CLIENT_ID],
        client_secret=texts[SECRET],
        scope=texts[SCOPE],
        extensions=_extensions(given.get(EXTENSIONS, "")),
        ca_location=texts[CA_LOCATION],
        ca_pem=texts[CA_PEM],
    )


def check(name: str, text: str) -> None:
    """Raise ConfigError for a value that the property cannot have."""
    if name == EXTENSIONS:
        _extensions(text)
    elif name == ENDPOINT and not _is_http(text.strip()):
        why = "it must read https://HOST/PATH, without a name or a password"
        raise ConfigError(Problem("", f"Invalid value for configuration {name}: {why}"))
    elif name in _FIXED and text.strip() not in _FIXED[name]:
        why = f"this framework gets tokens by client credentials alone: leave it out, or say {_FIXED[name][0]}"
        raise ConfigError(Problem("", f"Invalid value {text} for configuration {name}: {why}"))


def _is_http(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    # What stands before an @ would be shown wherever the endpoint is named.
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def _extensions(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    if not all(name.strip().isalpha() and equals and value.strip() for name, equals, value in pairs):
        why = "it must read NAME=VALUE,..., with letters alone in the names"
        raise ConfigError(Problem("", f"Invalid value {text} for configuration {EXTENSIONS}: {why}"))
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)
