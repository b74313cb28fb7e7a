"""What connectors may change of their Kafka clients (Kafka Connect's `ConnectorClientConfigOverridePolicy`).

A connector's properties may come from anybody who reaches the REST interface, so the policy is `None` by default. Some
properties are refused by every policy: those that make a client load code, run a command, read a file or call a URL.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol, runtime_checkable
from urllib.parse import unquote, urlsplit

from eosfw.config import oauthbearer
from eosfw.config.definition.config_def import Key, List, String
from eosfw.config.definition.kinds import AllowedPaths, allowed_path
from eosfw.config.definition.layered import originals_with_prefix

__all__ = [
    "LOCAL_FILE_POLICY",
    "OVERRIDE_POLICY",
    "POLICY",
    "ClientConfigOverridePolicy",
    "ClientConfigRequest",
    "is_built_in",
    "loads_code",
    "override_refusals",
]

logger = logging.getLogger(__name__)

POLICY = "connector.client.config.override.policy"
ALLOWLIST = "connector.client.config.override.allowlist"
PATHS = "connector.client.config.override.allowed.paths"
URLS = "connector.client.config.override.allowed.urls"
ANY_URL: Final = "*"
_PRINCIPAL = (
    "sasl.jaas.config",
    "sasl.mechanism",
    "sasl.mechanisms",
    "security.protocol",
    "sasl.username",
    "sasl.password",
    *oauthbearer.CREDENTIALS,
    *oauthbearer.RENAMED,
)
_CODE = re.compile(
    r".*(_cb|\.cb|callback|\.class|\.classes|\.factory|\.handler|\.provider|\.providers|\.cmd|\.command)"
    r"|plugin\.library\.paths|ssl\.engine\..*|interceptor.*|metric\.reporters|opaque",
    re.IGNORECASE,
)
"""Names of librdkafka and of Kafka's clients whose values are code: callables, libraries, classes, shell commands."""
_FILE = re.compile(r".*(\.location|\.file|file|\.path|\.paths|\.dir|\.directory|keytab|\.cafile)", re.IGNORECASE)
_URL = re.compile(r".*(\.url|\.uri|\.endpoint)", re.IGNORECASE)
_METADATA_HOSTS = ("metadata", "metadata.google.internal", "instance-data")
_METADATA_ADDRESSES = tuple(
    ipaddress.ip_network(one) for one in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32")
)
"""Where clouds tell a machine its credentials."""

_BUILT_IN: Final = ("None", "All", "Principal", "Allowlist")


@dataclass(frozen=True, slots=True)
class ClientConfigRequest:
    """What a connector wants to change of one of its clients (Kafka Connect's `ConnectorClientConfigRequest`)."""

    connector: str
    connector_class: str
    client: str
    """`producer`, `consumer` or `admin`."""
    properties: Mapping[str, str] = field(repr=False)
    """By names without prefix."""


@runtime_checkable
class ClientConfigOverridePolicy(Protocol):
    """Decides what connectors may change of their clients (Kafka Connect's `ConnectorClientConfigOverridePolicy`).

    It is made without arguments. One with `config` and `configure` (`Configurable`) is given the worker's
    `connector.client.config.override.policy.*` first. Asked when a connector is validated, and again whenever a client
    is made, by any thread; so it answers at once, and the same each time. What makes a client load code, names a file
    outside `connector.client.config.override.allowed.paths` or a URL outside `...allowed.urls` is refused whatever it
    says; so is everything if it raises.
    """

    name: ClassVar[str]
    """What the property says; not None, All, Principal or Allowlist, in no case of letters."""

    def refusals(self, request: ClientConfigRequest) -> Mapping[str, str]:
        """The properties that must not be changed, each with a reason that shows no value."""


class PolicyName(String):
    """The name of a policy; those that need no plugin in any case of letters."""

    __slots__ = ()

    def parse(self, text: str) -> str:
        name = String.parse(self, text).strip()
        return next((word for word in _BUILT_IN if word.lower() == name.lower()), name)


def is_built_in(policy: str) -> bool:
    """Whether a policy, in any case of letters, is one that needs no plugin."""
    return policy.lower() in {word.lower() for word in _BUILT_IN}


OVERRIDE_POLICY: Final[tuple[Key, ...]] = (
    PolicyName(
        POLICY,
        "None",
        "what connectors may change by `producer.override.*`, `consumer.override.*` and `admin.override.*`: None, All, "
        "Principal (who the client is), Allowlist (`connector.client.config.override.allowlist`), or a policy of a "
        "plugin, by name; `connector.client.config.override.policy.*` are for it; in a pipeline file the default is "
        "All",
    ),
    List(ALLOWLIST, (), "with the policy Allowlist: the names that connectors may change, without prefix"),
    AllowedPaths(
        PATHS,
        (),
        "folders, comma-separated, in which such a property may name a file; in a pipeline file the default is /",
    ),
    List(
        URLS,
        (),
        "beginnings of URLs, comma-separated, that such a property may name; `*`: any; "
        "in a pipeline file the default is `*`",
    ),
)
"""The definitions, for a worker's `ConfigDef`."""
LOCAL_FILE_POLICY: Final[Mapping[str, str]] = {POLICY: "All", PATHS: "/", URLS: ANY_URL}
"""The defaults where worker and connectors are in one file, and so were written by the same person."""


def override_refusals(worker: Mapping[str, Any], properties: Mapping[str, str]) -> dict[str, str]:
    """The overrides among a connector's properties that the worker does not allow, each with the reason.

    No reason shows a value.
    """
    found: dict[str, str] = {}
    for client in ("producer", "consumer", "admin"):
        prefix = f"{client}.override."
        given = originals_with_prefix(properties, prefix)
        by_policy = _policy_refusals(worker, properties, client, given)
        for name, text in given.items():
            reason = _refusal(worker, name, text, by_policy.get(name))
            if reason is not None:
                found[prefix + name] = reason
    return {key: found[key] for key in properties if key in found}


def loads_code(name: str) -> bool:
    """Whether the value of a client's property is code, or a command."""
    return _CODE.fullmatch(name.strip()) is not None


def _policy_refusals(
    worker: Mapping[str, Any], properties: Mapping[str, str], client: str, given: Mapping[str, str]
) -> dict[str, str]:
    """What the policy refuses, each with its reason; everything if a policy of a plugin is unknown here, or fails."""
    policy = worker[POLICY]
    if isinstance(policy, str):
        return {name: _not_allowed(policy, name) for name in given if not _allows(worker, name)}
    if not given:
        return {}
    request = ClientConfigRequest(properties.get("name", ""), properties.get("connector.class", ""), client, given)
    try:
        refused = dict(policy.refusals(request))
    except Exception as error:  # noqa: BLE001 what nobody has judged is not allowed
        # Its text is not shown: there may be a value in it.
        logger.warning("client config override policy %r failed: %s", policy.name, type(error).__name__)
        refused = dict.fromkeys(given, "")
    return {
        name: why if why and given[name] not in why else _not_allowed(policy.name, name)
        for name, why in refused.items()
        if name in given
    }


def _not_allowed(policy: str, name: str) -> str:
    return f"The '{policy}' policy does not allow '{name}' to be overridden in the connector configuration."


def _refusal(worker: Mapping[str, Any], name: str, text: str, by_policy: str | None) -> str | None:
    if loads_code(name):
        return "makes a client load code or run a command: no policy allows it"
    if by_policy is not None:
        return by_policy
    if _URL.fullmatch(name):
        return _url_refusal(text.strip(), worker[URLS])
    if _FILE.fullmatch(name) and allowed_path(text.strip(), worker[PATHS]) is None:
        return f"names a file outside {PATHS}"
    return None


def _allows(worker: Mapping[str, Any], name: str) -> bool:
    match worker[POLICY]:
        case "All":
            return True
        case "Principal":
            return name in _PRINCIPAL
        case "Allowlist":
            return name in worker[ALLOWLIST]
        case _:
            return False


def _url_refusal(url: str, allowed: Sequence[str]) -> str | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme.lower() not in ("http", "https") or not host:
        return "must be an http or https URL"
    if "@" in parts.netloc or "\\" in url:
        return "must be a URL without a user"
    if _is_metadata(host):
        return "names an address where clouds keep credentials: no policy allows it"
    if ANY_URL in allowed or any(_begins_with(url, one) for one in allowed):
        return None
    return f"names a URL outside {URLS}"


def _is_metadata(host: str) -> bool:
    # As resolvers read it, to whom a full-width letter or digit is an ordinary one.
    with suppress(UnicodeError):
        host = host.encode("idna").decode()
    host = host.rstrip(".").lower()
    if host in _METADATA_HOSTS:
        return True
    try:
        address = _address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return any(mapped in network for network in _METADATA_ADDRESSES if network.version == mapped.version)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address that a host is; ValueError for a name."""
    import socket  # only where a URL is judged

    try:
        # 2852039166, 0251.0376.0251.0376 and 169.254.43518 are spellings of 169.254.169.254 that resolvers accept.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return ipaddress.ip_address(host.partition("%")[0])


def _begins_with(url: str, allowed: str) -> bool:
    """Whether host, port and scheme are the same, and the path goes on behind a slash, if at all."""
    one, other = urlsplit(url), urlsplit(allowed)
    if (one.scheme, one.hostname, one.port) != (other.scheme, other.hostname, other.port):
        return False
    path, root = unquote(one.path), unquote(other.path).rstrip("/")
    return ".." not in path and (path == root or path.startswith(f"{root}/"))
