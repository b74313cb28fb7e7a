"""A command inside a sentence exists, with the options it is shown with."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

from tests.docs.pages import PAGES, ROOT, inline

from eosfw.cli.app import command as root_command

ENVIRONMENT = re.compile(r"\bEOS(?:FW)?_[A-Z_]+")


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


def spans(start, least):
    """The pieces of code within lines that begin so, after where they stand; were there fewer, the search is wrong."""
    found = [
        (f"{page}:{line}", child.content)
        for page in PAGES
        for child, line in inline(page)
        if child.type == "code_inline" and re.match(start, child.content)
    ]
    assert len(found) >= least
    return found


def test_every_eosfw_command_exists_with_its_options():
    """`eosfw run --chekc` would be found out."""
    for where, span in spans("eosfw ", 100):
        words = shlex.split(span)[1:]
        called = next(tuple(words[:n]) for n in range(len(words), -1, -1) if tuple(words[:n]) in commands())
        given = {word.partition("=")[0] for word in words if word.startswith("-")}

        assert called or given, f"{where}: no command of eosfw: {span}"
        assert given <= commands()[called] | {"--help"}, f"{where}: {span}"


def test_an_environment_of_tox_exists():
    """`uv run tox -e CORE` would be found out."""
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    known = {name.removeprefix("testenv:") for name in tox.sections()}

    for where, span in spans("uv run tox", 5):
        named = span.partition(" -e ")[2]
        assert {name for name in named.split(",") if name} <= known, f"{where}: {span}"


def test_an_environment_variable_is_read_somewhere():
    """`EOS_MODLES=50 uv run pytest` would be found out."""
    shown = {name for _, span in spans("", 1000) for name in ENVIRONMENT.findall(span)}
    readers = [ROOT / "tox.ini", *(ROOT / "src").rglob("*.py"), *(ROOT / "deploy").glob("*.properties")]
    read = {name for path in readers for name in ENVIRONMENT.findall(path.read_text(encoding="utf-8"))}

    assert len(shown) > 2
    assert shown - read == set()


def test_a_call_of_pytest_names_what_exists(request):
    """A folder of tests, an option that pytest knows."""
    known = {name for action in request.config._parser._anonymous.options for name in action.names()}
    known |= {n for group in request.config._parser._groups for one in group.options for n in one.names()}

    for where, span in spans("(uv run pytest|pytest -)", 5):
        for word in shlex.split(span.removeprefix("uv run "))[1:]:
            is_option = word.startswith("-")
            exists = word.partition("=")[0] in known if is_option else word.isdigit() or (ROOT / word).exists()
            assert exists, f"{where}: {span}"


def test_a_script_or_module_exists():
    """`python docs/reference/…_page.py`."""
    for where, span in spans("python [a-z./-]", 10):
        words = shlex.split(span)
        if words[1] == "-m":
            paths = [Path(ROOT, folder, *words[2].split(".")).with_suffix(".py") for folder in ("", "tests")]
            known = {"eosfw_memory", "eosfw_rest.credentials", "pytest", "pip", "venv"}
            exists = words[2] in known or any(path.exists() for path in paths)
        else:
            exists = Path(ROOT / words[1]).exists()
        assert exists, f"{where}: {span}"


def test_installable_names_on_pages_exist():
    """A distribution of this repository, or one that is pinned here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = {re.split(r"[=<>]", pin)[0] for pin in project["tool"]["uv"]["constraint-dependencies"]}
    ours = {"eosfw", *project["tool"]["uv"]["sources"]}

    for where, span in spans("pip install", 10):
        names = {re.split(r"[\[=<>]", word)[0] for word in shlex.split(span)[2:] if not word.startswith("-")}
        assert names <= pinned | ours, f"{where}: {span}"
