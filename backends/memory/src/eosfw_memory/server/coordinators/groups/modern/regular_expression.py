"""Match the names of topics with regular expressions of RE2, by means of Python's.

What RE2 does not know is refused, and what Python does not know or understands in another way.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from eosfw_memory.common.codes import Code, KafkaError

_REFUSED: Final = re.compile(
    r"""(?x)
      (?P<escape>\\[1-9gkKGXRQEpPCzZhHvNuU])                # references, and escapes that one of both lacks
    | (?P<group>\(\?(?![:imsU)-]|P<[A-Za-z_]|<[A-Za-z_]))     # look-around, conditions, atomic groups, comments
    | (?P<possessive>[*+?}]\+)
    | (?P<class>\[\^?\]?[^\]]*\[:)
    """
)
_SKIPPED: Final = re.compile(r"\\\\|\\\[")
_FLAG_U: Final = re.compile(r"\(\?[a-zA-Z-]*U")
_NAMED: Final = re.compile(r"\(\?<(?=[A-Za-z_])")


@lru_cache(maxsize=256)
def compiled(regex: str) -> re.Pattern[str]:
    """The pattern to match whole names with; raises InvalidRegularExpression."""
    plain = _SKIPPED.sub("__", regex)
    refused = _REFUSED.search(plain) or _FLAG_U.search(plain)
    if refused is not None:
        raise _invalid(regex, f"{refused[0]!r} is not supported")
    try:
        # RE2 also writes a named group as other languages do.
        return re.compile(_NAMED.sub("(?P<", regex), re.ASCII)
    except (re.error, RecursionError, OverflowError) as why:
        raise _invalid(regex, str(why)) from why


def _invalid(regex: str, why: str) -> KafkaError:
    return KafkaError(
        Code.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}."
    )
