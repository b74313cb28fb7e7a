"""The kinds of projects, with their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CONFIG_PROVIDER", "CONNECTOR", "CONVERTER", "TRANSFORM", "ProjectKind"]

_COMMON = {
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "tox.ini": "tox.ini",
    "gitignore": ".gitignore",
    "workflow.yml": ".github/workflows/test.yml",
    "py.typed": "src/{module}/py.typed",
    "test_contract.py": "tests/test_contract.py",
}
_PART = {**_COMMON, "part.py": "src/{module}/__init__.py"}


@dataclass(frozen=True, slots=True)
class ProjectKind:
    """What a project is for."""

    role: str
    """The role of what it offers, as the registry calls it."""
    folder: str
    """Where its templates are; those that all kinds share are in `common`."""
    summary: str
    """What its distribution says of itself."""
    tests: str
    """What its tests do."""
    afterwards: str
    """What it can be used by, once it is installed."""
    paths: Mapping[str, str]
    """The path of each template's file. Templates end in `.template`, so that no tool takes them for code."""


CONNECTOR = ProjectKind(
    "connector",
    "connector",
    "Source connector `{name}` for eosfw, exactly once.",
    "a zombie at every step, on an embedded cluster",
    "from then on `eosfw run pipeline.toml` finds it",
    {
        **_COMMON,
        "pipeline.toml": "pipeline.toml",
        "connector.py": "src/{module}/__init__.py",
        "test_zombies.py": "tests/test_zombies.py",
    },
)
TRANSFORM = ProjectKind(
    "transformation",
    "transform",
    "Transformation `{name}` of records for eosfw.",
    "records of every kind, one by one and in batches",
    'from then on "transforms.ALIAS.type" finds it',
    {**_PART, "test_records.py": "tests/test_records.py"},
)
CONVERTER = ProjectKind(
    "converter",
    "converter",
    "Converter `{name}` of keys and values to bytes for eosfw.",
    "values of every type, written and read back",
    'from then on "value.converter" finds it',
    {**_PART, "test_values.py": "tests/test_values.py"},
)
CONFIG_PROVIDER = ProjectKind(
    "config provider",
    "config_provider",
    "Config provider `{name}` for eosfw.",
    "what is given, and what is refused",
    'from then on "config.providers.NAME.class" finds it',
    {**_PART, "test_lookups.py": "tests/test_lookups.py"},
)
