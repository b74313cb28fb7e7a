"""Give every distribution a new version, and make the fragments of changes a section of the changelog.

`python -m release.set_version 0.2.0` changes files; commit and tag them afterwards.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from release import changelog
from release.workspace import ROOT, projects, version

ELSEWHERE = {"src/eosfw/__init__.py": '__version__ = "{}"', "deploy/kubernetes.yaml": "/eosfw-worker:{}\n"}
"""Files beside the project files that have the version, and how they have it."""
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


def main() -> None:
    """Change the files of the repository that this module is in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--date", required=True, help="of the release, as 2026-12-24")
    given = parser.parse_args()
    set_version(ROOT, given.version, given.date)


def set_version(root: Path, new: str, date: str) -> None:
    """Change every file that has the version, and the changelog."""
    if not VERSION.fullmatch(new):
        sys.exit(f"release: {new!r} is no version like 0.2.0 or 0.2.0rc1")
    old, found = version(root), projects(root)
    for file in found.values():
        file.write_text(renumbered(file.read_text(encoding="utf-8"), found, old, new), encoding="utf-8")
    for file in root.glob("examples/*/pyproject.toml"):
        file.write_text(repinned(file.read_text(encoding="utf-8"), found, old, new), encoding="utf-8")
    for name, where in ELSEWHERE.items():
        file = root / name
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(where.format(old), where.format(new)), encoding="utf-8")
    _release_fragments(root, new, date)


def renumbered(project: str, names: dict[str, Path], old: str, new: str) -> str:
    """A project file with the new version, and with the pins of the other distributions at it."""
    return repinned(re.sub(rf'(?m)^version = "{re.escape(old)}"$', f'version = "{new}"', project), names, old, new)


def repinned(project: str, names: dict[str, Path], old: str, new: str) -> str:
    """A project file that asks for the distributions of this repository in the new version, or from it on."""
    owned = "|".join(re.escape(name) for name in names)
    return re.sub(rf'("(?:{owned})(?:\[[^\]]*\])?[=>]=){re.escape(old)}"', rf'\g<1>{new}"', project)


def _release_fragments(root: Path, new: str, date: str) -> None:
    file = root / "CHANGELOG.md"
    file.write_text(
        changelog.with_section(file.read_text(encoding="utf-8"), new, date, changelog.unreleased(root)),
        encoding="utf-8",
    )
    for fragment in changelog.fragments(root):
        fragment.unlink()


if __name__ == "__main__":
    main()
