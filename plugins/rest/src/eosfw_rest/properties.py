"""The worker properties of the REST interface beside the framework's (`listeners`, `rest.advertised.*`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from eosfw.config import Config, ConfigDef, Password, String
from eosfw.errors import ConfigError, Problem
from eosfw.security import is_loopback

ADMIN_LISTENERS: Final = "admin.listeners"
AUTHENTICATION: Final = "rest.authentication.file"
CERTIFICATE: Final = "listeners.https.ssl.certificate.location"
KEY: Final = "listeners.https.ssl.key.location"
KEY_PASSWORD: Final = "listeners.https.ssl.key.password"  # noqa: S105 - the name of a property
CA: Final = "listeners.https.ssl.ca.location"
PROPERTIES: Final = ConfigDef(
    String(
        AUTHENTICATION,
        None,
        "file of those who may use the REST interface, a line each; `python -m eosfw_rest.credentials` makes one; "
        "without it the REST interface listens to loopback alone",
    ),
    String(CERTIFICATE, None, "file of the certificate, with its chain, of https listeners (PEM)"),
    String(KEY, None, "file of the private key of that certificate; default: the same file"),
    Password(KEY_PASSWORD, None, "password of that key"),
    String(CA, None, "file of the certificates by which other workers are known (PEM); default: the system's"),
)


@dataclass(frozen=True, slots=True)
class Listener:
    """One address to listen at; port 0 takes a free one."""

    scheme: str
    host: str
    port: int
    admin: bool = False
    """Whether it serves the calls under `/admin` alone."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def property_name(self) -> str:
        """The property that names it."""
        return ADMIN_LISTENERS if self.admin else "listeners"

    @property
    def url(self) -> str:
        """The listener as a URL."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def listeners(config: Config) -> list[Listener]:
    """The listeners of a worker, those of `admin.listeners` at the end; ConfigError if one cannot be served safely."""
    found = [_listener("listeners", text) for text in config["listeners"]]
    found += [_listener(ADMIN_LISTENERS, text) for text in config[ADMIN_LISTENERS] or ()]
    problems = [problem for one in found for problem in _problems(one, config)]
    problems += _advertised_problems(found, config)
    if config[AUTHENTICATION] is not None and config["connect.protocol"] != "sessioned":
        problems.append(
            f"{AUTHENTICATION} needs connect.protocol=sessioned: with others, requests between workers are unsigned"
        )
    if problems:
        raise ConfigError(*(Problem("", what) for what in problems))
    return found


def _listener(name: str, text: str) -> Listener:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as why:
        raise ConfigError(Problem("", f"{name}: {text!r}: {why}")) from None
    if port is None or parts.path not in ("", "/"):
        raise ConfigError(Problem("", f"{name}: {text!r} must be http://HOST:PORT or https://HOST:PORT"))
    # As in Kafka Connect, no host means all interfaces.
    return Listener(parts.scheme.lower(), parts.hostname or "0.0.0.0", port, name == ADMIN_LISTENERS)


def _problems(listener: Listener, config: Config) -> list[str]:
    problems, name = [], listener.property_name
    if not listener.is_loopback and config[AUTHENTICATION] is None:
        problems.append(
            f"{name}: {listener.url} can be reached from other machines, and nobody would be asked who they are: "
            f"set {AUTHENTICATION}, or listen to 127.0.0.1"
        )
    if listener.scheme == "https" and config[CERTIFICATE] is None:
        problems.append(f"{name}: {listener.url} needs {CERTIFICATE}")
    return problems


def _advertised_problems(found: list[Listener], config: Config) -> list[str]:
    wanted = config["rest.advertised.listener"]
    elsewhere = config["rest.advertised.host.name"] or config["rest.advertised.port"]
    if wanted is None or elsewhere or any(one.scheme == wanted and not one.admin for one in found):
        return []
    what = "add one to listeners, or say by rest.advertised.host.name and rest.advertised.port who does"
    return [f"rest.advertised.listener={wanted}, but no listener speaks it: {what}"]


def advertised_url(config: Config, bound: list[Listener]) -> str:
    """The URL under which other workers reach this one (Connect's `RestServer.advertisedUrl`)."""
    bound = [one for one in bound if not one.admin]
    wanted: Any = config["rest.advertised.listener"]
    listener = next((one for one in bound if one.scheme == wanted), bound[0])
    host = config["rest.advertised.host.name"] or listener.host
    return Listener(wanted or listener.scheme, host, config["rest.advertised.port"] or listener.port).url
