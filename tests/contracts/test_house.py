"""Every distribution runs the shipped contracts in a short module that authors can copy."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
MODULES = sorted(path for path in HERE.glob("test_*.py") if path.name != Path(__file__).name)
DISTRIBUTIONS = sorted(
    path.parent.name for folder in ("backends", "plugins") for path in ROOT.glob(f"{folder}/*/pyproject.toml")
)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_contract_module_has_at_most_25_lines(module):
    """The house: one fixture, every test; nothing else to write."""
    assert len(module.read_text().splitlines()) <= 25


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_contract_module_writes_no_test_of_its_own(module):
    """What is not a promise of the role belongs elsewhere."""
    functions = [node.name for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.FunctionDef)]

    assert [name for name in functions if name.startswith("test")] == []


@pytest.mark.parametrize("distribution", ["eosfw", *DISTRIBUTIONS])
def test_a_distribution_has_its_contract_module(distribution):
    """The house: each folder under backends/ and plugins/ is a customer."""
    assert HERE / f"test_{distribution}.py" in MODULES
