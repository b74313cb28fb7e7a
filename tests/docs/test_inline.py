"""A command inside a sentence exists, with the options it is shown with."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, inline

from eosfw.cli.app import command as root_command


@cache
def commands():
    """Every option of every command of `eosfw`, by the words that call it."""
    found = {}

    def walk(command, words, context):
        found[words] = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            walk(command.get_command(context, name), (*words, name), context)

    root = root_command()
    walk(root, (), root.make_context("eosfw", [], resilient_parsing=True))
    return found


def spans(start):
    """The pieces of code within lines that begin so, and where they stand."""
    return [
        pytest.param(child.content, id=f"{page}:{line}:{child.content[:50]}")
        for page in PAGES
        for child, line in inline(page)
        if child.type == "code_inline" and re.match(start, child.content)
    ]


def test_the_inline_command_search_finds_commands():
    """Were commands written otherwise, the tests below would have nothing to say."""
    assert len(spans("eosfw ")) > 10
    assert ("run",) in commands()
    assert "--check" in commands()["run",]


@pytest.mark.parametrize("span", spans("eosfw "))
def test_every_eosfw_command_exists_with_its_options(span):
    """`eosfw run --chekc` would be found out."""
    words = shlex.split(span)[1:]
    called = next(tuple(words[:n]) for n in range(len(words), -1, -1) if tuple(words[:n]) in commands())
    given = {word.partition("=")[0] for word in words if word.startswith("-")}

    assert called or given, f"no command of eosfw: {span}"
    assert given <= commands()[called] | {"--help"}


@pytest.mark.parametrize("span", spans("uv run tox"))
def test_an_environment_of_tox_exists(span):
    """`uv run tox -e CORE` would be found out."""
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    known = {name.removeprefix("testenv:") for name in tox.sections()}
    named = span.partition(" -e ")[2]

    assert {name for name in named.split(",") if name} <= known


@pytest.mark.parametrize("span", [*spans("uv run pytest"), *spans("pytest -")])
def test_a_call_of_pytest_names_what_exists(span, request):
    """A folder of tests, an option that pytest knows."""
    words = shlex.split(span.removeprefix("uv run "))[1:]
    known = {name for action in request.config._parser._anonymous.options for name in action.names()}
    known |= {n for group in request.config._parser._groups for one in group.options for n in one.names()}

    for word in words:
        assert word.partition("=")[0] in known if word.startswith("-") else word.isdigit() or (ROOT / word).exists()


@pytest.mark.parametrize("span", spans("python [a-z./-]"))
def test_a_script_or_module_exists(span):
    """`python docs/reference/…_page.py`."""
    words = shlex.split(span)
    if words[1] == "-m":
        path = Path(ROOT, "tests", *words[2].split(".")).with_suffix(".py")
        assert words[2] in {"eosfw_memory", "eosfw_rest.credentials", "pytest", "pip", "venv"} or path.exists()
    else:
        assert Path(ROOT / words[1]).exists()


@pytest.mark.parametrize("span", spans("pip install"))
def test_installable_names_on_pages_exist(span):
    """A distribution of this repository, or one that is pinned here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = {re.split(r"[=<>]", pin)[0] for pin in project["tool"]["uv"]["constraint-dependencies"]}
    ours = {"eosfw", *project["tool"]["uv"]["sources"]}

    names = {re.split(r"[\[=<>]", word)[0] for word in shlex.split(span)[2:] if not word.startswith("-")}

    assert names <= pinned | ours
