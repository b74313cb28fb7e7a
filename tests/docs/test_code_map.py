"""Every path and name that the pages about the code give exists."""

from __future__ import annotations

import ast
import configparser
import re
from functools import cache

import pytest
from tests.docs.pages import PAGES, ROOT, drawings, tokens

MAPS = ("docs/explanation/architecture.md", "docs/how-to/change-the-code.md")
PLACE = re.compile(r"[\w.-]+/[\w./-]*(?::[\w.]+)?|[\w./-]*\.(?:py|json|importlinter)(?::[\w.]+)?")


def places(page):
    """Each piece of code that is a path, with the folder that the heading above it names."""
    folder, found, heading = "", [], False
    for token in tokens(page):
        heading = token.type == "heading_open" or (heading and token.type == "inline")
        spans = [child.content for child in token.children or () if child.type == "code_inline"]
        if heading and token.type == "inline":
            folder = spans[0] if spans and token.content.count("`") == 2 else ""
        found += [(folder, span) for span in spans if PLACE.fullmatch(span)]
    return found


@cache
def names(path):
    """What a module defines, methods as `Class.method`."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
        found |= {getattr(node, "name", "")}
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return found


def missing(folder, place):
    """The missing part of a place, or None."""
    path, _, name = place.partition(":")
    file = next((one for one in (ROOT / folder / path, ROOT / path) if one.exists()), None)
    if file is None:
        return f"there is no {path} in {folder or 'the repository'}"
    return f"{path} defines no {name}" if name and name not in names(file) else None


@pytest.mark.parametrize("page", MAPS)
def test_every_path_and_name_on_a_page_about_the_code_exists(page):
    """A module that is renamed takes its pages along."""
    assert [wrong for folder, place in places(page) if (wrong := missing(folder, place))] == []


@pytest.mark.parametrize("place", ["runtime/nowhere.py", "runtime/task.py:Nobody", "runtime/task.py:Task.nothing"])
def test_a_missing_path_or_name_is_reported(place):
    """A test that cannot fail shows nothing."""
    assert missing("src/eosfw", place)


@pytest.mark.parametrize("page", MAPS)
def test_a_page_about_the_code_names_many_places(page):
    """Were they written otherwise, the test above would have nothing to say."""
    assert len([place for place in places(page) if ".py" in place[1]]) > 40


def test_a_drawing_shows_no_command():
    """A command would have to be run."""
    command = re.compile(r"^\s*(\$|>>>|import |def )", re.MULTILINE)
    wrong = [page for page in PAGES for drawing in drawings(page) if command.search(drawing)]

    assert any(map(drawings, PAGES))
    assert wrong == []


def test_the_layers_on_the_page_are_those_that_are_checked():
    """In the order of the contract."""
    rules = configparser.ConfigParser()
    rules.read(ROOT / ".importlinter")
    layers = rules["importlinter:contract:layers"]["layers"].split("\n")[1:]
    shown = [re.split(r" {2,}", line)[0] for block in drawings(MAPS[0]) for line in block.splitlines()]

    assert [line for line in shown if line in layers] == layers
