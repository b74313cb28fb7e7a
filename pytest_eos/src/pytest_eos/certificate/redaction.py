"""Remove secrets from everything that a certificate says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

HIDDEN = "[hidden]"
_SHORT = 4
"""A secret shorter than this is replaced only where it stands alone: `a` would else remove every letter a."""
_IN_URL = re.compile(r"(?<=://)[^\s/@'\"]+@")
"""User and password of an address, whoever wrote it."""


class Redaction:
    """Replaces secrets that it was told of, in the ways in which texts write them."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secrets: Iterable[str]) -> None:
        """Learn of secrets."""
        new = {one for one in secrets if one.strip()} - self._secrets
        if new:
            self._secrets |= new
            spellings = {spelling for secret in self._secrets for spelling in _spellings(secret)}
            # Longest first: a secret may contain another one.
            self._pattern = re.compile("|".join(map(_pattern, sorted(spellings, key=len, reverse=True))))

    def text(self, text: str) -> str:
        """The text without secrets."""
        found = text if self._pattern is None else self._pattern.sub(HIDDEN, text)
        return _IN_URL.sub(f"{HIDDEN}@", found)

    def values(self, given: Any) -> Any:
        """Dicts, lists and texts in any depth, each text without secrets."""
        if isinstance(given, str):
            return self.text(given)
        if isinstance(given, dict):
            return {name: self.values(value) for name, value in given.items()}
        if isinstance(given, list | tuple):
            return [self.values(one) for one in given]
        return given


def _spellings(secret: str) -> set[str]:
    """The secret as it is, in Python's quotes, in JSON, in an address, and line by line, as logs break it."""
    written = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)}
    lines = {line.strip() for line in secret.splitlines() if len(line.strip()) >= _SHORT}
    return written | lines


def _pattern(secret: str) -> str:
    escaped = re.escape(secret)
    return escaped if len(secret) >= _SHORT else rf"(?<!\w){escaped}(?!\w)"
