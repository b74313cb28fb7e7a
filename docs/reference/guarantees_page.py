"""Write docs/reference/guarantees.md from its rows and the tests that name them; a test finds the page out of date."""

from __future__ import annotations

import ast
import os.path
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).with_name("guarantees.md")
ROWS = Path(__file__).with_name("guarantees.toml")
ROOT = Path(__file__).parents[2]
TREES = ("tests", "pytest_eos/src/pytest_eos/contracts", "examples")
STATES = ("shown", "part", "not yet")
KIP_98 = {"PRD", "COR", "BRK", "CON", "GRP", "CMP"}
"""The kinds of rows that a broker and its clients keep; a framework of connectors keeps the others."""
SPARK = {"SPK"}
"""The kinds of rows that the source and the sink of Spark keep."""
CONNECT = {"TPC", "SMT", "CNV", "SCH", "PLG", "UIC"}
"""The kinds of rows about what Kafka Connect has beside exactly-once."""
SUITES = ("tests/kip98/", "tests/kip618/", "pytest_eos/")
"""What holds on every backend is tested here, so these come first."""
LISTED = 3
"""Modules that a row links; of more there is a count."""
HEAD = """# Guarantees

What eosfw guarantees, one row for each id (`TXN-14`, `FEN-09`) that a test may name in its docstring. The rows about
producers, brokers, readers and consumer groups are about KIP-98 (transactions), those about Spark carry transactions
over to the batches of its queries, those about schemas, converters, transformations, topics and plug points are about
Kafka Connect, all others about KIP-618 (exactly-once source connectors); each names where exactly it comes from. This
is how far they are implemented:

| proposal | rows | shown | part | not yet |
|---|---|---|---|---|
{counts}

*shown*: tests show the whole sentence. *part*: tests show some of it; the row says what is missing. *not yet*: no test
shows it, mostly because the feature does not exist; [what is left out](omissions.md) says why. The last column links
modules with tests that name the row, and counts the others; those that run on several backends come first.

This page is made from `guarantees.toml` and the tests' docstrings by `python docs/reference/guarantees_page.py`.
"""
_IDS = re.compile(r"\b([A-Z]{3})-(\d\d)(?:\.\.(\d\d))?\b")
_NO_ROWS = {"KIP", "UTF"}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A row: what holds, where that is defined, how much of it is shown, what is missing."""

    id: str
    holds: str
    source: str
    state: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A test whose docstring names a row."""

    id: str
    module: str
    test: str


def page() -> str:
    """The whole page."""
    found = mentions()
    return "\n".join([HEAD.format(counts="\n".join(_counts())), *_groups(found)])


def groups() -> dict[str, list[Guarantee]]:
    """The rows of each group, in their order."""
    read = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    return {title: [Guarantee(name, *cells) for name, cells in rows.items()] for title, rows in read.items()}


def guarantees() -> list[Guarantee]:
    """All rows."""
    return [row for rows in groups().values() for row in rows]


def mentions() -> list[Mention]:
    """Every id in a docstring of a test."""
    paths = (path for tree in TREES for path in sorted((ROOT / tree).rglob("*.py")))
    return [mention for path in paths for mention in _of_module(path)]


def problems(rows: list[Guarantee], found: list[Mention]) -> Iterator[str]:
    """Where rows and tests contradict each other, a sentence each."""
    states = {row.id: row.state for row in rows}
    named = {mention.id for mention in found if _shows(mention)}
    for mention in found:
        if mention.id not in states:
            yield f"{mention.module}::{mention.test} names {mention.id}, which no row defines"
        elif states[mention.id] == "not yet":
            yield f"{mention.module}::{mention.test} names {mention.id}, whose row says 'not yet'"
    for row in rows:
        if row.state not in STATES:
            yield f"{row.id} has the state '{row.state}', which is none of {', '.join(STATES)}"
        elif row.state != "not yet" and row.id not in named:
            yield f"{row.id} is said to be '{row.state}', and no test names it"
        if row.state == "part" and not row.missing:
            yield f"{row.id} is shown in part, and does not say what is missing"


def ids_in(text: str) -> Iterator[str]:
    """The ids that a text names; FEN-08..10 stands for three."""
    for kind, first, last in _IDS.findall(text):
        if kind not in _NO_ROWS:
            yield from (f"{kind}-{number:02}" for number in range(int(first), int(last or first) + 1))


def _of_module(path: Path) -> Iterator[Mention]:
    module = str(path.relative_to(ROOT))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, _DOCUMENTED):
            for name in sorted(set(ids_in(ast.get_docstring(node) or ""))):
                yield Mention(name, module, getattr(node, "name", "the module"))


def _shows(mention: Mention) -> bool:
    """A helper beside the tests shows nothing."""
    return Path(mention.module).name.startswith("test_") or "/contracts/" in mention.module


def _counts() -> Iterator[str]:
    rows = guarantees()
    others = {row.id[:3] for row in rows} - KIP_98 - SPARK - CONNECT
    kinds_of = {"KIP-98": KIP_98, "KIP-618": others, "Spark": SPARK, "Kafka Connect": CONNECT}
    for proposal, kinds in kinds_of.items():
        states = Counter(row.state for row in rows if row.id[:3] in kinds)
        yield f"| {proposal} | {states.total()} | {' | '.join(str(states[state]) for state in STATES)} |"


def _groups(found: list[Mention]) -> Iterator[str]:
    for title, rows in groups().items():
        yield f"## {title}\n"
        yield "| id | what holds | source | state | tests |"
        yield "|---|---|---|---|---|"
        for row in rows:
            state = f"{row.state}: {row.missing}" if row.missing else row.state
            yield f"| {row.id} | {row.holds} | {row.source} | {state} | {_tests(row, found)} |"
        yield ""


def _tests(row: Guarantee, found: list[Mention]) -> str:
    modules = {mention.module for mention in found if mention.id == row.id and _shows(mention)}
    ordered = sorted(modules, key=lambda module: (not module.startswith(SUITES), module))
    more = [f"{len(ordered) - LISTED} more"] if len(ordered) > LISTED else []
    return ", ".join([*(_link(module) for module in ordered[:LISTED]), *more])


def _link(module: str) -> str:
    short = module.removeprefix("tests/").removeprefix("pytest_eos/src/pytest_eos/").removesuffix(".py")
    return f"[{short}]({os.path.relpath(ROOT / module, PAGE.parent)})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
