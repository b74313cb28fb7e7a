"""Match the names of topics with regular expressions of RE2, by means of Python's.

What RE2 does not know is refused, and what Python does not know or understands in another way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from eosfw_memory.common.codes import Code, KafkaError

_TOKEN: Final = re.compile(
    r"""
      (?P<escape> \\. )
    | (?P<class> \[ \^? \]? (?: \\. | [^\]\\] )* \] )
    | (?P<group> \(\? (?: P?<[A-Za-z_]\w*> | [ims-]*[:)] )? )
    | (?P<repetition> (?: [*+?] | \{\d+(?:,\d*)?\} ) \+? )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_KNOWN_ESCAPE: Final = re.compile(r"\\(?:[AbBdDsSwWafnrtvx0]|[^A-Za-z0-9])")
_ESCAPE: Final = re.compile(r"\\.")
_NAMED_GROUP: Final = re.compile(r"\(\?<(?=[A-Za-z_])")


@lru_cache(maxsize=256)
def compiled(regex: str) -> re.Pattern[str]:
    """The pattern to match whole names with; raises InvalidRegularExpression."""
    for refused in _unsupported(regex):
        raise _invalid(regex, f"`{refused}` is not supported")
    try:
        # RE2 has named groups with and without the P.
        return re.compile(_NAMED_GROUP.sub("(?P<", regex), re.ASCII)
    except (re.error, RecursionError, OverflowError) as why:
        raise _invalid(regex, str(why)) from why


def _unsupported(regex: str) -> Iterator[str]:
    """The parts that are not of both syntaxes, or mean different things in them."""
    for found in _TOKEN.finditer(regex):
        kind, part = found.lastgroup, found[0]
        if kind == "escape" and not _KNOWN_ESCAPE.fullmatch(part):
            yield part
        elif kind == "class":
            yield from (each for each in _ESCAPE.findall(part) if not _KNOWN_ESCAPE.fullmatch(each))
            if "[:" in part[1:]:
                yield "[:"
        elif kind == "group" and part == "(?":
            yield part
        elif kind == "repetition" and len(part) > 1 and part.endswith("+"):
            yield part  # Python's possessive repetition


def _invalid(regex: str, why: str) -> KafkaError:
    return KafkaError(
        Code.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}."
    )
