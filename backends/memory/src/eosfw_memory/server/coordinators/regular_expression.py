"""Match names with regular expressions of clients, in the syntax of RE2 as in Kafka.

RE2 matches in a time that grows with the text alone, whatever expression a client sends.
"""

from __future__ import annotations

from typing import Protocol

from eosfw_memory.common.codes import Code, KafkaError


class Pattern(Protocol):
    """A regular expression that was read."""

    def fullmatch(self, text: str) -> object | None:
        """A match of the whole text, if it matches."""


def compiled(field: str, regex: str) -> Pattern:
    """The pattern that a request has in a field, to match whole names with; raises InvalidRegularExpression."""
    try:
        import re2
    except ImportError:
        raise _invalid(field, regex, "it needs google-re2 in the broker: pip install 'eosfw-memory[regex]'") from None
    options = re2.Options()
    options.log_errors = False  # to stderr
    try:
        pattern: Pattern = re2.compile(regex, options)
    except re2.error as why:
        raise _invalid(field, regex, why.args[0].decode(errors="replace")) from None
    return pattern


def _invalid(field: str, regex: str, why: str) -> KafkaError:
    return KafkaError(Code.INVALID_REGULAR_EXPRESSION, f"{field} `{regex}` is not a valid regular expression: {why}.")
