"""Read the line of a `sasl.jaas.config` property. Kafka's `JaasConfig`.

No error shows the line or a part of it: passwords stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_VALUE: Final = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s=;"']+"""
_OPTION = re.compile(rf"""\s+([^\s=;"']+)\s*=\s*({_VALUE})""", re.DOTALL)
_LINE = re.compile(
    rf"""\s*([^\s=;"']+)\s+(?:required|requisite|sufficient|optional)((?:{_OPTION.pattern})*)\s*;\s*""",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class JaasError(ValueError):
    """A line is not written as JAAS wants it."""


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


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value[0] in "\"'" else value
