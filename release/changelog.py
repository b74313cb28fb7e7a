"""Turn the fragments of `changelog.d` into a section of the changelog."""

from __future__ import annotations

import re
from pathlib import Path

TITLES = {
    "highlight": "In short",
    "breaking": "Breaking changes",
    "feature": "Features",
    "fix": "Fixes",
    "doc": "Documentation",
}
"""The kinds of fragments in the order in which readers need them."""
_READ_BY_ALL = ("In short", "Breaking changes")
_HEADING = re.compile(r"^## (\S+).*\n", re.MULTILINE)


def fragments(root: Path) -> list[Path]:
    """Every fragment, without the page that explains them: `console`, then `console-offsets`."""
    found = (file for file in (root / "changelog.d").glob("*.md") if file.name != "README.md")
    return sorted(found, key=lambda file: file.name.split("."))


def unreleased(root: Path) -> str:
    """What changed since the last release, sorted by kind."""
    parts = []
    for kind, title in TITLES.items():
        chosen = [file for file in fragments(root) if file.name.endswith(f".{kind}.md")]
        if chosen:
            parts.append(f"### {title}\n\n" + "\n".join(_item(file) for file in chosen) + "\n")
    return "\n".join(parts)


def section(changelog: str, version: str) -> str:
    """The text of a release without its heading; empty if the changelog has none."""
    _, *parts = _HEADING.split(changelog)
    found = dict(zip(parts[::2], parts[1::2], strict=True)).get(version)
    return f"{found.strip()}\n" if found else ""


def notes(root: Path, version: str) -> str:
    """The notes of a release: its section of the changelog, or the fragments while that is not written.

    A release that has highlights has much else, which the notes only count.
    """
    written = section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    return f"# eosfw {version}\n\n{_shortened(written or unreleased(root))}"


def _shortened(text: str) -> str:
    if TITLES["highlight"] not in text.partition("\n")[0]:
        return text
    chapters = [chapter.partition("\n")[::2] for chapter in f"\n{text}".split("\n### ")[1:]]
    shown = [f"### {title}\n{items.rstrip()}\n" for title, items in chapters if title in _READ_BY_ALL]
    counts = [f"{title} ({_count(items)})" for title, items in chapters if title not in _READ_BY_ALL]
    return "\n".join([*shown, f"`CHANGELOG.md` has all changes: {', '.join(counts)}.\n"] if counts else shown)


def _count(items: str) -> int:
    return sum(line.startswith("- ") for line in items.splitlines())


def with_section(changelog: str, version: str, date: str, text: str) -> str:
    """The changelog with a release on top of the earlier ones."""
    first = _HEADING.search(changelog)
    start = first.start() if first else len(changelog)
    return f"{changelog[:start].rstrip()}\n\n## {version} ({date})\n\n{text}\n{changelog[start:]}".rstrip() + "\n"


def _item(file: Path) -> str:
    # A further line belongs to the item only if it is indented.
    return "- " + file.read_text(encoding="utf-8").strip().replace("\n", "\n  ")
