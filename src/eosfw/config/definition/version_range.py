"""Versions and ranges of versions in Maven's syntax (`VersionRange`), which Kafka Connect has for plugins (KIP-891).

`[1.0,2.0)` is from 1.0 on and below 2.0, `[1.5,)` from 1.5 on, `(,1.0],[1.2,)` one or the other, `1.0` that one alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from eosfw.config.definition.config_def import String

__all__ = ["PluginVersion", "VersionRange"]

_VERSION = re.compile(r"v?\d[\w.+-]*", re.ASCII)
_NUMBERS = re.compile(r"\s*v?(\d+(?:\.\d+)*)")
_QUALIFIER = re.compile(r"[._-]*([a-z]*)[._-]*(\d*)")
_RANKS = {
    "dev": -6,
    **dict.fromkeys(("a", "alpha"), -5),
    **dict.fromkeys(("b", "beta"), -4),
    **dict.fromkeys(("m", "milestone"), -3),
    **dict.fromkeys(("c", "rc", "cr", "pre", "preview"), -2),
    "snapshot": -1,
    **dict.fromkeys(("", "ga", "final", "release"), 0),
    **dict.fromkeys(("sp", "post", "rev", "r"), 1),
}
"""The order of what may stand behind the numbers, by Maven and by PEP 440; 0 is the version itself."""
_UNKNOWN = 2
_Order = tuple[tuple[int, ...], tuple[tuple[int, str, int], ...]]


@dataclass(frozen=True, slots=True)
class _Interval:
    lower: str
    upper: str
    with_lower: bool
    with_upper: bool

    def contains(self, version: _Order) -> bool:
        if self.lower:
            lower = _order(self.lower)
            if version < lower or (version == lower and not self.with_lower):
                return False
        if self.upper:
            upper = _order(self.upper)
            if version > upper or (version == upper and not self.with_upper):
                return False
        return True


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A set of versions."""

    text: str
    """As it was written, in brackets."""
    intervals: tuple[_Interval, ...]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read a range; ValueError, with Maven's text, for what is none. A version alone is that version."""
        spec = text.strip()
        if not spec.startswith(("[", "(")):
            spec = f"[{spec}]"
        intervals = tuple(_intervals(spec))
        for before, after in pairwise(intervals):
            if not before.upper or not after.lower or _order(after.lower) < _order(before.upper):
                raise ValueError(f"Ranges overlap: {spec}")
        return cls(spec, intervals)

    def contains(self, version: str) -> bool:
        """Whether a version is in it; one without a number is in none."""
        order = _order(version)
        return bool(order[0]) and any(one.contains(order) for one in self.intervals)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class PluginVersion(String):
    """A version of a plugin or a range of versions in Maven's syntax; `latest` is any."""

    def parse(self, text: str) -> VersionRange | None:  # type: ignore[override]
        version = String.parse(self, text).strip()
        return None if version == "latest" else VersionRange.parse(version)


def _intervals(spec: str) -> Iterator[_Interval]:
    rest = spec
    while rest.startswith(("[", "(")):
        ends = [at for at in (rest.find("]"), rest.find(")")) if at >= 0]
        if not ends:
            raise ValueError(f"Unbounded range: {spec}")
        end = min(ends)
        yield _interval(rest[: end + 1])
        rest = rest[end + 1 :].strip().removeprefix(",").strip()
    if rest:
        raise ValueError(f"Only fully-qualified sets allowed in multiple set scenario: {spec}")


def _interval(spec: str) -> _Interval:
    with_lower, with_upper = spec.startswith("["), spec.endswith("]")
    lower, comma, upper = (part.strip() for part in spec[1:-1].strip().partition(","))
    if not comma:
        if not (with_lower and with_upper):
            raise ValueError(f"Single version must be surrounded by []: {spec}")
        upper = lower
    elif lower and lower == upper:
        raise ValueError(f"Range cannot have identical boundaries: {spec}")
    for version in filter(None, (lower, upper)):
        if not _VERSION.fullmatch(version):
            raise ValueError(f"{version!r} is no version: {spec}")
    if not comma and not lower:
        raise ValueError(f"there is no version in {spec}")
    if lower and upper and _order(upper) < _order(lower):
        raise ValueError(f"Range defies version ordering: {spec}")
    return _Interval(lower, upper, with_lower, with_upper)


def _order(version: str) -> _Order:
    """What two versions are compared by: numbers without zeros at their end, then each qualifier with its number."""
    text = version.lower().partition("+")[0]
    found = _NUMBERS.match(text)
    if found is None:
        return (), ()
    numbers = [int(number) for number in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), (*_qualifiers(text[found.end() :]), (0, "", 0))


def _qualifiers(text: str) -> Iterator[tuple[int, str, int]]:
    for word, number in _QUALIFIER.findall(text):
        rank = _RANKS.get(word, _UNKNOWN)
        if word and rank:
            yield rank, word if rank == _UNKNOWN else "", int(number or 0)
        elif number:  # as in `1.0-1`, which comes after `1.0`
            yield 1, "", int(number)
