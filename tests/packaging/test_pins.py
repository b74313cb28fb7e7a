"""Every dependency for development is pinned."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLERS = {"pip", "setuptools", "wheel"}
"""Put into virtual environments by whoever made them."""
OURS = ("eosfw", "pytest-eos")
VARIED = {"pyspark"}
"""Chosen by a tox factor."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    """What is asked of each distribution, by normal name: `==1.2`, `>=1,<2`."""
    constraints = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]
    parts = [re.fullmatch(r"([\w.-]+?)([<>=!~].*)", pin) for pin in constraints]
    return {normal(part[1]): part[2] for part in parts}


def test_every_installed_distribution_is_pinned_exactly(pins):
    """Everybody tests the same versions; a newcomer without a pin shows here."""
    installed = {normal(found.name): f"=={found.version}" for found in distributions()}

    asked = {name for name in installed if not name.startswith(OURS)} - INSTALLERS - VARIED

    assert {name: pins.get(name) for name in asked} == {name: installed[name] for name in asked}


def test_only_what_a_factor_varies_has_a_range(pins):
    """A range anywhere else would let two runs differ."""
    assert {name for name, asked in pins.items() if not asked.startswith("==")} == VARIED
