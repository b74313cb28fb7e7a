"""Regular expressions as Java writes them (`java.util.regex.Pattern`)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from eosfw.config.definition.config_def import String

_NAMED = re.compile(r"(?<!\\)((?:\\\\)*)\(\?<(?![=!])")
_REFERENCE = re.compile(r"\\k<(\w+)>")


@dataclass(frozen=True, slots=True)
class JavaPattern(String):
    """A regular expression as Java reads it: named groups are `(?<name>...)`, digits and words are of ASCII."""

    def parse(self, text: str) -> re.Pattern[str]:  # type: ignore[override]
        return compile_java(String.parse(self, text))


def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile a Java pattern; ValueError if Python cannot."""
    translated = _REFERENCE.sub(r"(?P=\1)", _NAMED.sub(r"\1(?P<", pattern))
    try:
        with warnings.catch_warnings():
            # Of what Java reads otherwise, such as an intersection of classes, Python warns.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(translated, re.ASCII)
    except (re.error, FutureWarning) as why:
        raise ValueError(f"Invalid regular expression: {why}") from None
