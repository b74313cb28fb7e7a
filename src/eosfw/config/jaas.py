"""The line of a property `sasl.jaas.config` (Kafka's `JaasConfig`).

No error shows the line or a part of it: passwords stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from eosfw.config.oauthbearer import CLIENT_ID, EXTENSIONS, SCOPE, SECRET

__all__ = ["JaasEntry", "JaasError", "jaas_credentials", "parse_jaas"]

_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OAUTHBEARER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_EXTENSION: Final = "extension_"
_VALUE: Final = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s=;"']+"""
_OPTION = re.compile(rf"""\s+([^\s=;"']+)\s*=\s*({_VALUE})""", re.DOTALL)
_LINE = re.compile(
    rf"""\s*([^\s=;"']+)\s+(?:required|requisite|sufficient|optional)((?:{_OPTION.pattern})*)\s*;\s*""",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class JaasError(ValueError):
    """A line is not written as JAAS wants it, or lacks what it is for."""


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module with its options. Java's `AppConfigurationEntry`."""

    login_module: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: str) -> JaasEntry:
    """Read `MODULE required NAME="VALUE" ...;`; raise JaasError."""
    line = _LINE.fullmatch(text)
    if line is None:
        raise JaasError('it is not written MODULE required NAME="VALUE" ...; with a semicolon at its end')
    return JaasEntry(line[1], {name: _unquoted(value) for name, value in _OPTION.findall(line[2])})


def jaas_credentials(text: str) -> dict[str, str]:
    """The properties that say the same as a client's line, such as `sasl.username`; raise JaasError."""
    entry = parse_jaas(text)
    if entry.login_module == _OAUTHBEARER:
        return _oauthbearer(entry.options)
    if entry.login_module not in (_PLAIN, _SCRAM):
        raise JaasError(f"of Java's login modules this client knows {_PLAIN}, {_SCRAM} and {_OAUTHBEARER}")
    if not {"username", "password"} <= entry.options.keys():
        raise JaasError("it lacks username or password")
    return {"sasl.username": entry.options["username"], "sasl.password": entry.options["password"]}


def _oauthbearer(options: Mapping[str, str]) -> dict[str, str]:
    extensions = {name: text for name, text in options.items() if name.startswith(_EXTENSION)}
    known = {"clientId": CLIENT_ID, "clientSecret": SECRET, "scope": SCOPE}
    if not options.keys() <= known.keys() | extensions.keys():
        raise JaasError(
            f"of its options this client knows {', '.join(known)} and {_EXTENSION}NAME; "
            "say whom to trust at the token endpoint by https.ca.location"
        )
    found = {known[name]: text for name, text in options.items() if name in known}
    if extensions:
        found[EXTENSIONS] = ",".join(f"{name.removeprefix(_EXTENSION)}={text}" for name, text in extensions.items())
    return found


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value[0] in "\"'" else value
