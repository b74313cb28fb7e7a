"""The lowest versions are those that distributions ask for, not those of the tools that test them."""

from __future__ import annotations

from packaging.requirements import Requirement
from release import lowest
from release.workspace import projects, requirements

PINS = ["attrs==26.1.0", "pyspark>=4.0.5,<4.4", "pytest==9.2.0", "pytest-xdist==3.8.0", "zstandard==0.25.0"]


def test_a_pin_stays_for_tools_and_is_an_upper_bound_for_all_else():
    """A tool may be in the group and asked for by a distribution: then it is no tool."""
    found = lowest.bounds(PINS, ["pytest", "pytest-xdist", "zstandard"], {"attrs", "pytest", "zstandard"})

    assert found == ["attrs<=26.1.0", PINS[1], "pytest==9.2.0", "pytest-xdist==3.8.0", "zstandard<=0.25.0"]


def test_a_connector_is_tested_with_the_lowest_pytest():
    """Without tools, nothing is held where it is pinned."""
    assert "pytest<=9.2.0" in lowest.bounds(PINS, [], {"pytest"})


def test_groups_are_followed_into_each_other():
    """The tools of the unit tests belong to those of all tests."""
    assert lowest.tools({"unit": ["pytest"], "test": [{"include-group": "unit"}, "uv"]}) == ["pytest", "uv"]


def test_whatever_a_distribution_depends_on_has_a_lowest_version():
    """Without a bound the oldest that an index has would be meant."""
    own = projects()
    asked = [Requirement(each) for file in own.values() for each in requirements(file)]

    assert [str(each) for each in asked if each.name not in own and not each.specifier] == []


def test_all_parts_of_a_distribution_are_installed_but_those_with_spark():
    """An extra without which its dependencies would never be seen at their lowest."""
    demo = projects()["eosfw-demo"]

    assert lowest.parts(demo) == f"{demo.parent}[postgres]"
