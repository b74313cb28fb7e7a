"""Requirements and versions of distributions, compared as pip does (PEP 440, PEP 508)."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def parse_requirement(text: str) -> Requirement | None:
    """A line of `Requires-Dist`; None if it breaks the syntax."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def applies(requirement: Requirement, extra: str = "") -> bool:
    """Whether a requirement's marker holds for this interpreter, when `extra` is installed."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def satisfies(version: str, specifiers: SpecifierSet | str) -> bool:
    """Whether a version is one of those that are required; what breaks the syntax of either counts as satisfied."""
    try:
        return SpecifierSet(str(specifiers)).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True
