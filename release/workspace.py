"""Find the distributions of this repository."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def projects(root: Path = ROOT) -> dict[str, Path]:
    """The project file of each distribution, by its name."""
    workspace = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["workspace"]
    folders = [root, *(found for pattern in workspace["members"] for found in sorted(root.glob(pattern)))]
    files = [folder / "pyproject.toml" for folder in folders]
    return {tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"]: file for file in files}


def version(root: Path = ROOT) -> str:
    """The version that all distributions have."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return found
