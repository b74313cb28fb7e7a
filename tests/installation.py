"""Distributions with plugins, as an installer leaves them in a folder."""

from __future__ import annotations

from pathlib import Path
from shutil import copy


def install(site: Path, name: str, entry_points: str, version: str = "1.0", *, module: Path | None = None) -> Path:
    """The folder, for PYTHONPATH, with the metadata of a distribution, and with its module if that is a file."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)
    if module is not None:
        copy(module, site)
    return site
