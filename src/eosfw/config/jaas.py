"""The line of a JAAS configuration, `sasl.jaas.config`, as far as passwords go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
MODULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {_PLAIN: ("PLAIN",), _SCRAM: ("SCRAM-SHA-256", "SCRAM-SHA-512")}
)
"""The login modules that only need a name and a password, each with its mechanisms."""
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
_HEAD: Final = re.compile(r"\s*([\w.$]+)\s+(\w+)")
_OPTION: Final = re.compile(rf"\s+([\w.]+)\s*=\s*({_QUOTED}|[^\s;\"']+)")
_END: Final = re.compile(r"\s*;\s*")
_ESCAPED: Final = re.compile(r"\\(.)")


def jaas_credentials(text: str) -> dict[str, str]:
    """`sasl.username` and `sasl.password` of a line; ValueError, which shows no value, for any other line."""
    head = _HEAD.match(text)
    if head is None or head[2].lower() not in _FLAGS:
        raise ValueError('it must read: MODULE required username="..." password="...";')
    if head[1] not in MODULES:
        raise ValueError(f"of Java's login modules this client knows {' and '.join(MODULES)}")
    options, at = {}, head.end()
    while (option := _OPTION.match(text, at)) is not None:
        options[option[1]] = _unquoted(option[2])
        at = option.end()
    if _END.fullmatch(text, at) is None:
        raise ValueError("after its options there must be a semicolon, and nothing else")
    if "username" not in options or "password" not in options:
        raise ValueError("it lacks username or password")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _unquoted(text: str) -> str:
    return _ESCAPED.sub(r"\1", text[1:-1]) if text[0] in "\"'" else text
