"""The command line of `eosfw new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.command_group import command_group

if TYPE_CHECKING:
    from eosfw.cli.new.project_kinds import ProjectKind
    from eosfw.cli.new.project_names import ProjectNames
_HELP = "Write a project to start from; needs no network, overwrites nothing."


_Name = Annotated[str, typer.Argument(metavar="NAME", help="What properties will say: letters, digits, dashes.")]
_Output = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The project's folder; must not exist.  [default: eosfw-NAME]")
]


def group() -> typer.Typer:
    """The command with its kinds of projects."""
    return command_group(
        _HELP,
        ("connector", connector, "A source connector that works, with tests that prove it."),
        ("transform", transform, "A transformation of records, with its tests."),
        ("converter", converter, "A converter of keys and values to bytes, with its tests."),
        ("config-provider", config_provider, "A place where values of properties come from, with its tests."),
    )


def connector(name: _Name, *, output: _Output = None) -> None:
    """Write a source connector that counts, as a distribution of its own, with tests that make zombies of its tasks.

    It works as written: make it read your source step by step, its tests fail when it is no longer exactly once.
    """
    from eosfw.cli.new.project_kinds import CONNECTOR

    _write(CONNECTOR, name, output)


def transform(name: _Name, *, output: _Output = None) -> None:
    """Write a transformation that adds a field, as a distribution of its own, with tests that inherit its contract.

    It works as written: make it change what you need, its tests fail when the framework cannot rely on it.
    """
    from eosfw.cli.new.project_kinds import TRANSFORM

    _write(TRANSFORM, name, output)


def converter(name: _Name, *, output: _Output = None) -> None:
    """Write a converter to bytes, as a distribution of its own, with tests that inherit its contract.

    It works as written: make it write your format, its tests fail when the framework cannot rely on it.
    """
    from eosfw.cli.new.project_kinds import CONVERTER

    _write(CONVERTER, name, output)


def config_provider(name: _Name, *, output: _Output = None) -> None:
    """Write a config provider over JSON files, as a distribution of its own, with tests that inherit its contract.

    It works as written: make it ask your own store, its tests fail when it gives too much, or shows a value.
    """
    from eosfw.cli.new.project_kinds import CONFIG_PROVIDER

    _write(CONFIG_PROVIDER, name, output)


def _write(kind: ProjectKind, name: str, output: Path | None) -> None:
    from eosfw.cli.new.project_files import write
    from eosfw.cli.new.project_names import refuse_name_conflicts

    names = _named(name)
    refuse_name_conflicts(names, kind.role)
    folder = output or Path(names.distribution)
    write(names, folder, kind)
    print_data(str(folder))
    print(_next_commands(folder, kind), file=sys.stderr)


def _named(name: str) -> ProjectNames:
    from eosfw.cli.new.project_names import parse_name

    try:
        return parse_name(name)
    except ValueError as why:
        raise typer.BadParameter(str(why), param_hint="NAME") from why


def _next_commands(folder: Path, kind: ProjectKind) -> str:
    from importlib.util import find_spec
    from shlex import quote

    commands = [
        (f"cd {quote(str(folder))}", "its README tells what to change"),
        ("python -m pytest", kind.tests),
        ("python -m pip install -e .", kind.afterwards),
    ]
    if find_spec("pytest_eos") is None:
        commands.insert(1, ("python -m pip install pytest-eos", "for the tests; brings the cluster"))
    width = max(len(command) for command, _ in commands)
    lines = [f"    {text:{width}}  # {why}" for text, why in commands]
    return "\n".join([f"eosfw: wrote a {kind.role} that works, with its tests; next:", *lines])
