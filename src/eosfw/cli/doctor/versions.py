"""Compare versions with what a distribution asks for (the common part of PEP 440 and PEP 508)."""

from __future__ import annotations

import operator
import re
from typing import NamedTuple

_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[[^]]*\])?\s*\(?(?P<versions>[^;)@]*)\)?\s*(?:;(?P<marker>.*))?")
_SPECIFIER = re.compile(r"(==|!=|~=|<=|>=|<|>)\s*v?(\d[\w.+!-]*?)(\.\*)?")
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)\.?(a|b|c|rc|alpha|beta|pre|preview|dev)?")
_COMPARED = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class Requirement(NamedTuple):
    """What is asked of one distribution; `marker` says when."""

    name: str
    versions: str
    marker: str

    def __str__(self) -> str:
        return self.name + self.versions


def requirement(text: str) -> Requirement | None:
    """Read one line of `Requires-Dist`; None for what is not written by name."""
    found = _REQUIREMENT.fullmatch(text)
    return (
        None
        if found is None
        else Requirement(found["name"], found["versions"].strip(), (found["marker"] or "").strip())
    )


def satisfies(version: str, specifiers: str) -> bool:
    """Whether a version is one of those asked for; what cannot be read is not held against it."""
    return all(_fits(version, one.strip()) for one in specifiers.split(",") if one.strip())


def _fits(version: str, specifier: str) -> bool:
    asked, have = _SPECIFIER.fullmatch(specifier), _key(version)
    want = None if asked is None else _key(asked[2])
    if asked is None or have is None or want is None:
        return True
    sign, wildcard = asked[1], asked[3]
    if sign == "~=":
        return have >= want and _starts(have, want[0][:-1])
    if wildcard and sign in ("==", "!="):
        return _starts(have, want[0]) is (sign == "==")
    same = max(len(have[0]), len(want[0]))
    return bool(_COMPARED[sign](_padded(have, same), _padded(want, same)))


_Key = tuple[tuple[int, ...], bool]


def _key(version: str) -> _Key | None:
    found = _RELEASE.match(version.strip())
    # A version before the final one sorts below it.
    return None if found is None else (tuple(map(int, found[1].split("."))), found[2] is None)


def _padded(key: _Key, length: int) -> _Key:
    return key[0] + (0,) * (length - len(key[0])), key[1]


def _starts(key: _Key, beginning: tuple[int, ...]) -> bool:
    return _padded(key, len(beginning))[0][: len(beginning)] == beginning
