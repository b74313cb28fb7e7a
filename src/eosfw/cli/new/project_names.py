"""Derive what a project's parts are called from its connector's name."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

LONGEST = 40
_PREFIX = "eosfw-"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_ALLOWED = f"write lower-case letters, digits and single dashes, a letter first, at most {LONGEST} characters"


@dataclass(frozen=True, slots=True)
class ProjectNames:
    """One name in the spellings of those who use it."""

    name: str
    """Of the connector, for `connector.class`."""

    @property
    def distribution(self) -> str:
        """What pip installs."""
        return f"{_PREFIX}{self.name}"

    @property
    def module(self) -> str:
        """What Python imports."""
        return self.distribution.replace("-", "_")

    @property
    def class_prefix(self) -> str:
        """What its classes begin with."""
        return "".join(part.capitalize() for part in self.name.split("-"))


def parse_name(text: str) -> ProjectNames:
    """Check a name; raise ValueError with what is allowed, and the nearest that is."""
    if text.startswith(_PREFIX):
        raise ValueError(f"{text!r}: {_PREFIX!r} is put before the name anyway{_try(text)}")
    if not _NAME.fullmatch(text) or len(text) > LONGEST:
        raise ValueError(f"{text!r}: {_ALLOWED}{_try(text)}")
    return ProjectNames(text)


def _try(text: str) -> str:
    near = _nearest(text)
    return f"; try {near!r}" if near else ""


def _nearest(text: str) -> str:
    """The name that somebody may have meant, or nothing."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plain).lower()
    dashed = re.sub(r"[^a-z0-9]+", "-", parted).strip("-").removeprefix(_PREFIX)
    return dashed.lstrip("0123456789-")[:LONGEST].strip("-")
