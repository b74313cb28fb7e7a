"""The topics that a regular expression selects (Spark's `SubscribePatternStrategy`)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Final

INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Kafka's internal topics, which a pattern never selects."""
_MEMBER: Final = re.compile(r"\\.|[][&]", re.DOTALL)


def compile_pattern(text: str) -> re.Pattern[str]:
    """Read a regular expression of Java; ValueError if Python's `re` would read it otherwise, or not at all."""
    if problem := _read_otherwise(text):
        raise ValueError(f"{problem}; write it without")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return re.compile(text)
        except (re.error, Warning) as why:
            raise ValueError(f"Python's `re`, which reads it here, does not take it: {why}") from None


def matching_topics(pattern: re.Pattern[str], names: Iterable[str]) -> tuple[str, ...]:
    """The topics in whose names the pattern is found anywhere, as Spark does it: `^...$` compares the whole name."""
    return tuple(sorted(name for name in names if name not in INTERNAL and pattern.search(name)))


def _read_otherwise(text: str) -> str | None:
    """What Java reads as the union or the intersection of classes, and Python as plain characters."""
    within, begun = False, -1
    for found in _MEMBER.finditer(text):
        mark = found.group()
        if within and mark == "[":
            return f"a class within a class, at position {found.start()}, is read by Java only"
        if within and text.startswith("&&", found.start()):
            return f"the intersection && of classes, at position {found.start()}, is read by Java only"
        if mark == "[" and not within:
            within, begun = True, found.end() + text.startswith("^", found.end())
        elif mark == "]" and found.start() != begun:
            within = False
    return None
