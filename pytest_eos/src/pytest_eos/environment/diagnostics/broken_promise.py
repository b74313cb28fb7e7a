"""The promise that a test checks, as a sentence."""

from __future__ import annotations

from inspect import cleandoc

import pytest

_CONTRACTS = "pytest_eos.contracts."


def contract_of(item: pytest.Item) -> str:
    """The name of the contract whose test this is; empty for other tests."""
    function = getattr(item, "function", None)
    if function is None or not function.__module__.startswith(_CONTRACTS):
        return ""
    return str(function.__qualname__.partition(".")[0])


def sentence(item: pytest.Item) -> str:
    """The name of the test's function as a sentence."""
    name = getattr(item, "originalname", None) or item.name
    return str(name).removeprefix("test_").replace("_", " ")


def text(item: pytest.Item) -> str | None:
    """The promise that a test of a contract checks, with its docstring; None for other tests."""
    contract = contract_of(item)
    if not contract:
        return None
    doc = getattr(item, "function").__doc__ or ""  # noqa: B009 - pytest.Item has none; a test of a contract does
    return f"{contract}: {sentence(item)}.\n{cleandoc(doc)}"
