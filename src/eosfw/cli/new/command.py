"""The command line of `eosfw new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.command_group import command_group

if TYPE_CHECKING:
    from eosfw.cli.new.project_names import ProjectNames
_HELP = "Write a project to start from; needs no network, overwrites nothing."


def group() -> typer.Typer:
    """The command with its kinds of projects."""
    return command_group(
        _HELP,
        ("connector", connector, "A source connector that works, with tests that prove it."),
    )


def connector(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What `connector.class` will say: letters, digits, dashes.")
    ],
    *,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The project's folder; must not exist.  [default: eosfw-NAME]")
    ] = None,
) -> None:
    """Write a source connector that counts, as a distribution of its own, with tests that make zombies of its tasks.

    It works as written: make it read your source step by step, its tests fail when it is no longer exactly once.
    """
    from eosfw.cli.new.project_files import write
    from eosfw.cli.new.project_names import refuse_name_conflicts

    names = _named(name)
    refuse_name_conflicts(names)
    folder = output or Path(names.distribution)
    write(names, folder)
    print_data(str(folder))
    print(_next_commands(folder), file=sys.stderr)


def _named(name: str) -> ProjectNames:
    from eosfw.cli.new.project_names import parse_name

    try:
        return parse_name(name)
    except ValueError as why:
        raise typer.BadParameter(str(why), param_hint="NAME") from why


def _next_commands(folder: Path) -> str:
    from importlib.util import find_spec
    from shlex import quote

    commands = [
        (f"cd {quote(str(folder))}", "its README tells what to change"),
        ("python -m pytest", "a zombie at every step, on an embedded cluster"),
        ("python -m pip install -e .", "from then on `eosfw run pipeline.toml` finds it"),
    ]
    if find_spec("pytest_eos") is None:
        commands.insert(1, ("python -m pip install pytest-eos", "for the tests; brings the cluster"))
    width = max(len(command) for command, _ in commands)
    lines = [f"    {text:{width}}  # {why}" for text, why in commands]
    return "\n".join(["eosfw: wrote a connector that works, with its tests; next:", *lines])
