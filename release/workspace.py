"""Find the distributions of this repository."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def projects(root: Path = ROOT) -> dict[str, Path]:
    """The project file of each distribution, by its name."""
    workspace = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["workspace"]
    folders = [root, *(found for pattern in workspace["members"] for found in sorted(root.glob(pattern)))]
    files = [folder / "pyproject.toml" for folder in folders]
    return {_project(file)["name"]: file for file in files}


def version(root: Path = ROOT) -> str:
    """The version that all distributions have."""
    found: str = _project(root / "pyproject.toml")["version"]
    return found


def extras(file: Path) -> dict[str, list[str]]:
    """What each extra of a distribution asks for."""
    found: dict[str, list[str]] = _project(file).get("optional-dependencies", {})
    return found


def requirements(file: Path) -> list[str]:
    """All that a distribution asks for, extras included."""
    return [*_project(file).get("dependencies", ()), *(one for extra in extras(file).values() for one in extra)]


def _project(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    return found
