"""Ranges of versions in Maven's syntax, for versions as Python's distributions have them (KIP-891)."""

from __future__ import annotations

import itertools

import pytest

from eosfw.config.definition.version_range import PluginVersion, VersionRange

ASCENDING = [
    "0.9", "1.0.dev3", "1.0a1", "1.0.alpha2", "1.0b1", "1.0-M1", "1.0rc1", "1.0-rc2", "1.0-SNAPSHOT", "1.0",
    "1.0.post1", "1.0-sp2", "1.0.1", "1.2", "1.10", "2", "2025.1",
]  # fmt: skip


def within(spec: str, version: str) -> bool:
    return VersionRange.parse(spec).contains(version)


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise(ASCENDING)), ids=str)
def test_versions_are_ordered_as_maven_and_python_order_them(lower: str, higher: str) -> None:
    """TPC-11."""
    assert within(f"[{lower},)", higher)
    assert not within(f"[{higher},)", lower)
    assert not within(f"({lower},)", lower)


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ("1.0", "1.0 1 1.0.0 1.0-final v1.0 1.0+local", "1.0.1 1.0rc1 0.9 1.0.post1"),
        ("[1.0]", "1.0", "1.1"),
        ("[1.0,2.0)", "1.0 1.9.9 2.0rc1", "2.0 0.9"),
        ("(1.0,2.0]", "1.0.1 2.0", "1.0 2.0.1"),
        ("(,1.0]", "0.1 1.0", "1.1"),
        ("[1.5,)", "1.5 9", "1.4"),
        ("(,1.0],[1.2,)", "0.5 1.0 1.2 3", "1.1"),
        ("[1.0,1.2) , [1.3]", "1.1 1.3", "1.2 1.4"),
        ("(,)", "0 1.0", ""),
    ],
)
def test_a_version_is_in_a_range_or_not(spec: str, inside: str, outside: str) -> None:
    """TPC-11."""
    assert [version for version in inside.split() if not within(spec, version)] == []
    assert [version for version in outside.split() if within(spec, version)] == []


@pytest.mark.parametrize("version", ["", "?", "unknown"])
def test_a_version_that_nobody_knows_is_in_no_range(version: str) -> None:
    """TPC-11: the metadata of a distribution may be damaged."""
    assert not within("(,)", version)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("[1.0", "Unbounded range: [1.0"),
        ("(1.0)", "Single version must be surrounded by []: (1.0)"),
        ("[1.0,1.0]", "Range cannot have identical boundaries: [1.0,1.0]"),
        ("[2.0,1.0]", "Range defies version ordering: [2.0,1.0]"),
        ("[1.0,2.0],1.5", "Only fully-qualified sets allowed in multiple set scenario: [1.0,2.0],1.5"),
        ("[1.0,3.0],[2.0,4.0]", "Ranges overlap: [1.0,3.0],[2.0,4.0]"),
        ("[,],[1.0]", "Ranges overlap: [,],[1.0]"),
        ("newest", "'newest' is no version: [newest]"),
        ("[]", "there is no version in []"),
        ("[1.0,2.0,3.0]", "'2.0,3.0' is no version"),
    ],
)
def test_what_is_no_range_is_refused(spec: str, reason: str) -> None:
    """TPC-11: with Maven's text where it has one."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 the text is compared
        VersionRange.parse(spec)

    assert reason in str(refused.value)


def test_the_latest_version_is_any() -> None:
    """TPC-11: exactly one is installed."""
    assert PluginVersion("connector.plugin.version").parse("latest") is None
