"""What connectors may change of their Kafka clients (Kafka Connect's `ConnectorClientConfigOverridePolicy`).

A connector's properties may come from anybody who reaches the REST interface, so the policy is `None` by default. Some
properties are refused by every policy: those that make a client load code, run a command, read a file or call a URL.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from eosfw.config.definition import Choice, Key, List
from eosfw.config.kinds import AllowedPaths, allowed_path

__all__ = ["LOCAL_FILE_POLICY", "OVERRIDE_POLICY", "loads_code", "override_refusals"]

POLICY = "connector.client.config.override.policy"
ALLOWLIST = "connector.client.config.override.allowlist"
PATHS = "connector.client.config.override.allowed.paths"
URLS = "connector.client.config.override.allowed.urls"
ANY_URL: Final = "*"
_PREFIX = re.compile(r"(producer|consumer|admin)\.override\.")
_PRINCIPAL = ("sasl.jaas.config", "sasl.mechanism", "security.protocol", "sasl.username", "sasl.password")
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

OVERRIDE_POLICY: Final[tuple[Key, ...]] = (
    Choice(
        POLICY,
        "None",
        "what connectors may change by `producer.override.*`, `consumer.override.*` and `admin.override.*`: None, All, "
        "Principal (who the client is), Allowlist (`connector.client.config.override.allowlist`); "
        "in a pipeline file the default is All",
        among=("None", "All", "Principal", "Allowlist"),
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
    found = {}
    for key, text in properties.items():
        prefix = _PREFIX.match(key)
        reason = _refusal(worker, key[prefix.end() :], text) if prefix else None
        if reason is not None:
            found[key] = reason
    return found


def loads_code(name: str) -> bool:
    """Whether the value of a client's property is code, or a command."""
    return _CODE.fullmatch(name.strip()) is not None


def _refusal(worker: Mapping[str, Any], name: str, text: str) -> str | None:
    if loads_code(name):
        return "makes a client load code or run a command: no policy allows it"
    if not _allows(worker, name):
        return f"The '{worker[POLICY]}' policy does not allow '{name}' to be overridden in the connector configuration."
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
    if host.rstrip(".").lower() in _METADATA_HOSTS:
        return True
    try:
        address = ipaddress.ip_address(_dotted(host))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return any(mapped in network for network in _METADATA_ADDRESSES if network.version == mapped.version)


def _dotted(host: str) -> str | int:
    # 2852039166 and 0xa9fea9fe are other spellings of 169.254.169.254 that resolvers accept.
    try:
        return int(host, 0)
    except ValueError:
        return host.partition("%")[0]


def _begins_with(url: str, allowed: str) -> bool:
    """Whether host, port and scheme are the same, and the path goes on behind a slash, if at all."""
    one, other = urlsplit(url), urlsplit(allowed)
    if (one.scheme, one.hostname, one.port) != (other.scheme, other.hostname, other.port):
        return False
    path, root = one.path, other.path.rstrip("/")
    return ".." not in path and (path == root or path.startswith(f"{root}/"))
