"""Every extension point stands on one page, and is a protocol."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any, Protocol

import pytest

from eosfw import hookspecs
from eosfw.registry.checks import ROLES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "hooks.md").read_text(encoding="utf-8")
RUNTIME_PROTOCOL = re.compile(r"^@runtime_checkable\nclass (\w+)\(", re.MULTILINE)
ASKED = re.compile(r"isinstance\([^()]+, (\w+)\)")
SOURCES = [path for folder in ("src", "pytest_eos/src", "plugins") for path in (ROOT / folder).rglob("*.py")]


def protocol(one: hookspecs.OptionalProtocol) -> Any:
    module, _, name = one.protocol.partition(":")
    return getattr(importlib.import_module(module), name)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


def members(contract: type) -> set[str]:
    return {name for name in (*vars(contract), *contract.__annotations__) if not name.startswith("_")}


@pytest.mark.parametrize("one", hookspecs.OPTIONAL, ids=lambda one: one.protocol)
def test_every_optional_protocol_of_a_role_is_documented(one: hookspecs.OptionalProtocol) -> None:
    contract = protocol(one)

    assert issubclass(contract, Protocol)  # type: ignore[arg-type]
    assert contract._is_runtime_protocol, "it is looked for with isinstance"
    assert one.protocol.replace(":", ".") in PAGE
    assert members(contract)
    assert all(f"`{name}" in PAGE for name in members(contract))


def test_no_optional_protocol_is_missing() -> None:
    """What is looked for with isinstance is on the page, or is the contract of a role."""
    contracts = {role.contract for role in ROLES.values()} | {protocol(one) for one in hookspecs.OPTIONAL}
    asked = {name for path in SOURCES for name in ASKED.findall(path.read_text(encoding="utf-8"))}
    found = {
        contract
        for path in (ROOT / "src").rglob("*.py")
        for name in RUNTIME_PROTOCOL.findall(path.read_text(encoding="utf-8"))
        if name in asked
        for contract in [getattr(importlib.import_module(module_of(path)), name)]
    }

    assert len(found) > len(hookspecs.OPTIONAL) / 2
    assert {one.__name__ for one in found - contracts} == set()


def test_the_page_names_the_group_of_commands_that_is_looked_for() -> None:
    assert hookspecs.COMMANDS_GROUP == "eosfw.commands"
    assert "`eosfw.commands`" in PAGE


def test_no_member_of_a_part_is_looked_up_by_its_name() -> None:
    """One that is would be an extension point that no page has."""
    contracts = [role.contract for role in ROLES.values()] + [protocol(one) for one in hookspecs.OPTIONAL]
    names = set().union(*map(members, contracts)) - {"name", "config", "task"}  # what registration itself checks
    looked_up = re.compile(r'(?:get|has)attr\(\s*[^()]+,\s*"(\w+)"')

    found = [
        f"{path.name}: {name}"
        for path in SOURCES
        for name in looked_up.findall(path.read_text(encoding="utf-8"))
        if name in names
    ]

    assert found == []
