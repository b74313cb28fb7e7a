"""Find the pages of the documentation and parse their Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
_WHERE = ("*.md", "docs/**/*.md", "backends/*/README.md", "plugins/*/README.md", "pytest_eos/README.md")
_ALSO = ("examples/**/*.md", "changelog.d/README.md", "benchmarks/README.md")
PAGES = sorted({str(path.relative_to(ROOT)) for pattern in (*_WHERE, *_ALSO) for path in ROOT.glob(pattern)})
"""Every page of the repository that is written for readers, by its path."""


NEEDS = {
    "plugins/spark/README.md": "spark",
    "README.md": "spark",
    "docs/tutorial/first-pipeline.md": "spark",
    "docs/how-to/host-connectors-on-spark.md": "spark",
    "docs/tutorial/database-to-dashboard.md": "spark",
    "docs/tutorial/database-to-spark.md": "spark",
    "docs/tutorial/second-hour.md": "spark",
    "docs/how-to/write-exactly-once-from-spark.md": "spark",
    "docs/how-to/run-a-pipeline.md": "spark",
    "docs/how-to/test-a-pipeline.md": "spark",
    "docs/how-to/connect-to-a-secured-cluster.md": "kafka",
    "docs/how-to/test-with-a-real-kafka.md": "kafka",
    "docs/how-to/use-the-embedded-broker.md": "kafka",
}
"""Pages that need more than Python."""


DRAWING = "text"
"""The language of a block that is a drawing."""
OTHER_PROGRAMS = {"docs/explanation/coming-from.md": {"java", "json", "py"}}
"""Pages that show the code of other programs, in these languages; Python is `py` there, since `python` is run."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link or picture of a page, and the line of the paragraph it stands in."""

    target: str
    line: int


@cache
def tokens(page: str) -> list[Token]:
    """A page as GitHub's kind of Markdown sees it, blocks and what stands in their lines."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return MarkdownIt("commonmark").enable("table").parse(text)


def fences(page: str) -> list[Token]:
    """The runnable blocks of a page; drawings and the code of other programs are left out."""
    left_out = {DRAWING, *OTHER_PROGRAMS.get(page, ())}
    return [token for token in tokens(page) if token.type in ("fence", "code_block") and token.info not in left_out]


def drawings(page: str) -> list[str]:
    """What is drawn in characters on a page."""
    return [token.content for token in tokens(page) if token.type == "fence" and token.info == DRAWING]


def marked(page: str) -> Any:
    """A page as a parameter of a test, marked with what it needs; pages are run where a change is merged."""
    marks = [getattr(pytest.mark, NEEDS[page])] if page in NEEDS else []
    return pytest.param(page, marks=[*marks, pytest.mark.ci])


def inline(page: str) -> Iterator[tuple[Token, int]]:
    """What stands in the lines of a page: texts, spans of code, links; each with its line."""
    for token in tokens(page):
        for child in token.children or ():
            yield child, (token.map or [0])[0] + 1


def links(page: str) -> Iterator[Link]:
    """Where a page leads to."""
    for child, line in inline(page):
        target = child.attrs.get("href") or child.attrs.get("src")
        if isinstance(target, str):
            yield Link(target, line)


def anchors(page: str) -> set[str]:
    """The headings of a page, as GitHub names them in links."""
    found = tokens(page)
    titles = [found[at + 1].content for at, token in enumerate(found) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def has_blocks(page: str) -> bool:
    """Whether a page has a runnable block; the test of each such page runs all that `fences` finds."""
    languages = re.findall(r"^```(\w+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return any(language != DRAWING for language in languages)


WITH_BLOCKS = [page for page in PAGES if has_blocks(page)]
