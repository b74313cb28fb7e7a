"""The public modules are those of the reference, and their `__all__` is honest."""

from __future__ import annotations

import ast
import importlib
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

PUBLIC = {
    name
    for names in runpy.run_path(str(ROOT / "docs" / "reference" / "modules_page.py"))["PUBLIC"].values()
    for name in names
}
SOURCES = {
    "eosfw": ROOT / "src",
    "eosfw_demo": ROOT / "plugins" / "demo" / "src",
    "eosfw_file": ROOT / "plugins" / "file" / "src",
    "eosfw_confluent": ROOT / "backends" / "confluent" / "src",
    "eosfw_kafka_python": ROOT / "backends" / "kafka_python" / "src",
    "eosfw_memory": ROOT / "backends" / "memory" / "src",
    "eosfw_spark": ROOT / "plugins" / "spark" / "src",
    "eosfw_rest": ROOT / "plugins" / "rest" / "src",
    "eosfw_console": ROOT / "plugins" / "console" / "src",
    "eosfw_opentelemetry": ROOT / "plugins" / "opentelemetry" / "src",
    "eosfw_schema_registry": ROOT / "plugins" / "schema_registry" / "src",
    "eosfw_postgres": ROOT / "plugins" / "postgres" / "src",
    "eosfw_singer": ROOT / "plugins" / "singer" / "src",
    "eosfw_sql": ROOT / "plugins" / "sql" / "src",
    "eosfw_http": ROOT / "plugins" / "http" / "src",
    "pytest_eos": ROOT / "pytest_eos" / "src",
}
USERS = [*(ROOT / "plugins").glob("*/src"), *(ROOT / "backends").glob("*/src"), ROOT / "pytest_eos" / "src"]
WITHOUT_NAMES = (
    "eosfw_confluent",
    "eosfw_demo",
    "eosfw_http",
    "eosfw_kafka_python",
    "eosfw_memory",
    "eosfw_console",
    "eosfw_opentelemetry",
    "eosfw_postgres",
    "eosfw_rest",
    "eosfw_schema_registry",
    "eosfw_spark",
    "eosfw_singer",
    "eosfw_sql",
)


def source_of(name: str) -> Path:
    """The file of a module."""
    path = SOURCES[name.partition(".")[0]] / Path(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def defined_in(path: Path) -> Iterator[str]:
    """The names that a module defines at its top level; not those that it imports."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_exists(name: str) -> None:
    module = importlib.import_module(name)

    missing = [public for public in module.__all__ if not hasattr(module, public)]
    assert missing == [], f"{name}.__all__ names what is not there"
    assert len(set(module.__all__)) == len(module.__all__)
    assert [public for public in module.__all__ if public.startswith("_") and not public.endswith("__")] == []


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_names_outside_all_of_a_public_module_look_private(name: str) -> None:
    public = set(importlib.import_module(name).__all__)

    looks_public = {one for one in defined_in(source_of(name)) if not one.startswith("_")} - public - {"logger"}
    assert looks_public == set(), f"{name}: put these into __all__, or begin them with an underscore"


def imports_of(path: Path, *packages: str) -> Iterator[tuple[str, str]]:
    """Each module of these packages that a file imports from, with the name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in packages:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] in packages)


def is_public(module: str, name: str) -> bool:
    """Whether a plugin may write `from module import name`."""
    if f"{module}.{name}" in PUBLIC:
        return True
    return module in PUBLIC and (not name or name in importlib.import_module(module).__all__)


@pytest.mark.parametrize("sources", USERS, ids=lambda path: path.parent.name)
def test_plugins_backends_and_pytest_eos_use_public_names_alone(sources: Path) -> None:
    assert internal_imports(sources, "eosfw") == [], "internal names of eosfw: have a public module offer them"


def test_examples_use_public_names_alone() -> None:
    distributions = ("eosfw", "pytest_eos", "eosfw_file", *WITHOUT_NAMES)

    assert internal_imports(ROOT / "examples", *distributions) == [], "readers copy examples"


def internal_imports(folder: Path, *packages: str) -> list[str]:
    """What the files below a folder import of these packages although it is not public."""
    files = sorted(folder.rglob("*.py"))
    used = {(path.relative_to(ROOT), *one) for path in files for one in imports_of(path, *packages)}
    assert used, f"nothing of {packages} is imported below {folder}"
    return sorted(f"{path}: {module}.{name}" for path, module, name in used if not is_public(module, name))


@pytest.mark.parametrize("name", WITHOUT_NAMES)
def test_a_distribution_without_public_names_has_none(name: str) -> None:
    # Read, not imported: Spark is not installed wherever this runs.
    tree = ast.parse(source_of(name).read_text(encoding="utf-8"))

    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    }
    assert [one for one in {*imported, *defined_in(source_of(name))} if not one.startswith("_")] == []
