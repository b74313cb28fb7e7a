"""Where a broker listens, and how clients prove there who they are. Kafka's `SocketServerConfigs`, `SslConfigs`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from eosfw.config import Boolean, Choice, ConfigDef, Int, List, Password, String
from eosfw.config.security import SecurityProtocol
from eosfw.errors import ConfigError, Problem
from eosfw.security import Address
from eosfw_memory.server.security.endpoint import parse_endpoints
from eosfw_memory.server.security.sasl_mechanisms import JAAS, Mechanisms, parse_mechanisms
from eosfw_memory.server.security.tls import CLIENT_AUTH, VERSIONS, TlsConfig
from eosfw_memory.server.security.token_validation import JWKS_URL, OAUTHBEARER, SIGNED_TOKENS
from eosfw_memory.server.security.users_file import USERS_FILE

THROWAWAY: Final = "eosfw.tls.auto"
THROWAWAY_USERS: Final = "eosfw.tls.auto.users"
LISTENERS: Final = ConfigDef(
    String("listeners", default="PLAINTEXT://127.0.0.1:0", may_be_empty=True,
        doc="where to listen, NAME://HOST:PORT, several with commas between; port 0 takes a free one; "
        "empty: nowhere, only this process calls it"),
    String("advertised.listeners", default=None, doc="where clients are told to connect; default: listeners"),
    String("listener.security.protocol.map",
        default="PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        doc="the protocol of each listener, by its name"),
)  # fmt: skip
_OF_ONE: Final = ConfigDef(
    List("sasl.enabled.mechanisms", default=(),
        doc="`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER`, for listeners with SASL; no default, "
        "as GSSAPI is not served"),
    String(USERS_FILE, default=None,
        doc="a file with a line `NAME=PASSWORD` for each user of `PLAIN` and `SCRAM`, in place of lines of JAAS; read "
        "again when it has changed"),
    Int("connections.max.reauth.ms", default=0, at_least=0,
        doc="a client with SASL authenticates itself anew within so long, or its connection is closed; 0: never"),
    Choice("ssl.client.auth", default="none", among=tuple(CLIENT_AUTH),
        doc="whether clients show a certificate; of listeners with SASL the `listener.name.` property alone counts"),
    List("ssl.enabled.protocols", default=("TLSv1.2", "TLSv1.3"), doc="the versions of TLS"),
    Choice("ssl.keystore.type", default="PEM", among=("PEM",), doc="Kafka's default is JKS"),
    String("ssl.keystore.location", default=None, doc="a file with private key and certificates in PEM"),
    String("ssl.keystore.certificate.chain", default=None, doc="the certificates as text, in place of a file"),
    Password("ssl.keystore.key", default=None, doc="the private key as text"),
    Password("ssl.key.password", default=None, doc="of the private key"),
    Choice("ssl.truststore.type", default="PEM", among=("PEM",), doc="Kafka's default is JKS"),
    String("ssl.truststore.location", default=None, doc="a file with the authorities of clients' certificates in PEM"),
    String("ssl.truststore.certificates", default=None, doc="the same as text"),
) + SIGNED_TOKENS  # fmt: skip
"""What a listener may have for itself, as `listener.name.NAME.` before the property."""
_LIMITS: Final = ConfigDef(
    Int("sasl.server.max.receive.size", default=524_288, at_least=1,
        doc="bytes that a connection may send before it is authenticated, all together (in Kafka: in one request)"),
    Int("eosfw.authentication.timeout.ms", default=10_000, at_least=1,
        doc="a connection that is not authenticated by then is closed, TLS included; Kafka has no such limit"),
    Int("connection.failed.authentication.delay.ms", default=100, at_least=0,
        doc="the answer to a wrong password is held back so long, against guessing"),
)  # fmt: skip
_THROWAWAY: Final = ConfigDef(
    Boolean(THROWAWAY, default=False,
        doc="make an authority, a certificate and a user that end with the broker, for tests: listeners then need no "
        "properties `ssl.*` and `sasl.*`; `client_properties` of the cluster has what clients need"),
    List(THROWAWAY_USERS, default=(), doc="further users that it makes, beside `eosfw`"),
)  # fmt: skip
SECURITY: Final = LISTENERS + _OF_ONE + _LIMITS + _THROWAWAY
PREFIX: Final = "listener.name."


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationLimits:
    """What a connection may cost before it is authenticated; times in seconds."""

    max_bytes: int
    timeout: float
    failure_delay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One address on which a broker listens. Kafka's `EndPoint`."""

    name: str
    where: Address
    advertised: Address | None
    protocol: SecurityProtocol
    tls: TlsConfig | None
    mechanisms: Mechanisms = field(repr=False)
    checks_tokens: bool
    """Whether tokens must be signed."""
    max_session: float | None
    """Seconds after which a client with SASL authenticates itself anew; None without a limit."""

    @property
    def authenticates(self) -> bool:
        """Whether a client proves who it is."""
        if self.protocol.sasl:
            return OAUTHBEARER not in self.mechanisms or self.checks_tokens  # else anybody can write one
        return self.tls is not None and self.tls.client_auth == "required"

    def __str__(self) -> str:
        return f"{self.name}://{self.where}"


def parse_listeners(properties: Mapping[str, str]) -> tuple[Listener, ...]:
    """The listeners of a broker; raise ConfigError with what is wrong."""
    config = LISTENERS.parse({name: text for name, text in properties.items() if name in LISTENERS.keys})
    protocols = config["listener.security.protocol.map"]
    where = parse_endpoints("listeners", config["listeners"])
    advertised = parse_endpoints("advertised.listeners", config["advertised.listeners"] or "")
    if unknown := [name for name in advertised if name not in where]:
        raise ConfigError(Problem("advertised.listeners", f"there is no listener {unknown[0]} in listeners"))
    prefixes = tuple(map(prefix_of, where))
    if unknown := [name for name in properties if name.startswith(PREFIX) and not name.startswith(prefixes)]:
        raise ConfigError(*(Problem(name, "there is no listener of this name in listeners") for name in unknown))
    found = tuple(
        _listener(name, where[name], advertised.get(name), protocol_of(name, protocols), properties) for name in where
    )
    if USERS_FILE in properties and not any(each.protocol.sasl for each in found):
        raise ConfigError(Problem(USERS_FILE, "no listener has SASL, so nobody would be asked for a password"))
    return found


def _listener(
    name: str,
    where: Address,
    advertised: Address | None,
    protocol: SecurityProtocol,
    properties: Mapping[str, str],
) -> Listener:
    prefix = prefix_of(name)
    own = {key.removeprefix(prefix): text for key, text in properties.items() if key.startswith(prefix)}
    jaas = {key: own.pop(key) for key in tuple(own) if key.endswith(JAAS)}
    # What Kafka takes for one mechanism of a listener alone, such as the keys of tokens.
    own = {key.removeprefix(f"{OAUTHBEARER.lower()}."): text for key, text in own.items()}
    shared = {key: text for key, text in properties.items() if key in _OF_ONE.keys}
    if protocol.sasl:
        # KIP-684: else a property that was meant for listeners without SASL would turn clients of this one away.
        shared.pop("ssl.client.auth", None)
    config = _OF_ONE.parse({**shared, **own}, f"listener {name}")
    mechanisms: Mechanisms = {}
    if protocol.sasl:
        mechanisms = parse_mechanisms(prefix, config, jaas)
    tls = _tls(config) if protocol.tls else None
    return Listener(
        name=name,
        where=where,
        advertised=advertised,
        protocol=protocol,
        tls=tls,
        mechanisms=mechanisms,
        checks_tokens=config[JWKS_URL] is not None,
        max_session=config["connections.max.reauth.ms"] / 1000 or None,
    )


def prefix_of(listener: str) -> str:
    """What stands before the names of a listener's own properties."""
    return f"{PREFIX}{listener.lower()}."


def _tls(config: Mapping[str, Any]) -> TlsConfig:
    if wrong := [name for name in config["ssl.enabled.protocols"] if name not in VERSIONS]:
        say = f"{wrong[0]!r} is not served; there are {', '.join(VERSIONS)}"
        raise ConfigError(Problem("ssl.enabled.protocols", say))
    return TlsConfig(
        keystore=config["ssl.keystore.location"],
        chain=config["ssl.keystore.certificate.chain"],
        key=config["ssl.keystore.key"],
        key_password=config["ssl.key.password"],
        truststore=config["ssl.truststore.location"],
        authorities=config["ssl.truststore.certificates"],
        client_auth=config["ssl.client.auth"],
        protocols=config["ssl.enabled.protocols"],
    )


def protocol_of(listener: str, protocols: str) -> SecurityProtocol:
    """The protocol of a listener by `listener.security.protocol.map`; raise ConfigError if that names none."""
    key = "listener.security.protocol.map"
    pairs = (part.strip().partition(":") for part in protocols.upper().split(","))
    found = {name.strip(): protocol.strip() for name, _, protocol in pairs}.get(listener)
    if found is None:
        raise ConfigError(Problem(key, f"it has no security protocol for the listener {listener}"))
    try:
        return SecurityProtocol(found)
    except ValueError:
        known = ", ".join(each.value for each in SecurityProtocol)
        raise ConfigError(Problem(key, f"{found!r} is not served; there are {known}")) from None
