"""The names of a new project's parts, derived from the name of what it offers."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from importlib import metadata

from eosfw.errors import PluginError

LONGEST = 40
_PREFIX = "eosfw-"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_ALLOWED = f"write lower-case letters, digits and single dashes, a letter first, at most {LONGEST} characters"


@dataclass(frozen=True, slots=True)
class ProjectNames:
    """The name of what a project offers, and the names that follow from it."""

    name: str
    """What properties say to choose it, such as `connector.class`."""

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


def refuse_name_conflicts(names: ProjectNames, role: str) -> None:
    """Raise PluginError if the name is that of a plugin of this role, of a distribution, or of a part of eosfw."""
    holder = _plugin(role, names.name) or _distribution(names.distribution) or _part(names)
    if holder:
        raise PluginError(f"the name {names.name!r} is taken: {holder}. Choose another one.")


def _plugin(role: str, name: str) -> str | None:
    from eosfw.registry import load_plugins

    rows = (row for row in load_plugins().all() if (row.role, row.name) == (role, name))
    return next((f"{row.distribution} {row.version} offers a {role} of that name" for row in rows), None)


def _distribution(name: str) -> str | None:
    try:
        return f"{name} {metadata.version(name)} is installed"
    except metadata.PackageNotFoundError:
        return None


def _part(names: ProjectNames) -> str | None:
    parts = metadata.metadata("eosfw").get_all("Provides-Extra") or []
    return f"{names.distribution} is a part of eosfw" if names.name in parts else None
