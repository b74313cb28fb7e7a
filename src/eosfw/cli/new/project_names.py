"""The names of a new project's parts, derived from its connector's name."""

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
    """A connector's name, and the names that follow from it."""

    name: str
    """The connector's name, for `connector.class`."""

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
        """The beginning of its classes' names."""
        return "".join(part.capitalize() for part in self.name.split("-"))


def parse_name(text: str) -> ProjectNames:
    """Validate a name; ValueError with what is allowed, and the nearest valid name."""
    if text.startswith(_PREFIX):
        raise ValueError(f"{text!r}: {_PREFIX!r} is put before the name anyway{_try(text)}")
    if not _NAME.fullmatch(text) or len(text) > LONGEST:
        raise ValueError(f"{text!r}: {_ALLOWED}{_try(text)}")
    return ProjectNames(text)


def _try(text: str) -> str:
    near = _nearest(text)
    return f"; try {near!r}" if near else ""


def _nearest(text: str) -> str:
    """The valid name that is nearest to a text; empty if there is none."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plain).lower()
    dashed = re.sub(r"[^a-z0-9]+", "-", parted).strip("-").removeprefix(_PREFIX)
    return dashed.lstrip("0123456789-")[:LONGEST].strip("-")
