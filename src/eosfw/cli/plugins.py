"""`eosfw plugins`: list what is installed, and what of it does not work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosfw.cli.output.stdout import print_data

if TYPE_CHECKING:
    from eosfw.registry import Plugins


def command(*, json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False) -> None:
    """List every plugin by role, the properties of parts, and what fails to load."""
    from eosfw.registry import load_plugins

    plugins = load_plugins().imported()
    print_data(json.dumps(_as_json(plugins)) if json_ else _as_text(plugins))


def _as_json(plugins: Plugins) -> dict[str, Any]:
    return {
        "plugins": [row._asdict() for row in plugins.all()],
        "properties": [row._asdict() for row in plugins.part_properties()],
        "failures": [failure._asdict() for failure in plugins.failures],
        "clashes": plugins.clashes(),
    }


def _as_text(plugins: Plugins) -> str:
    from eosfw.cli.output.console import TerminalStyle, draw, plain_text, table

    shown: list[Any] = [table(("ROLE", "NAME", "DISTRIBUTION", "VERSION"), plugins.all())]
    if plugins.part_properties():
        rows = [(one.property, one.name, one.default, one.doc) for one in plugins.part_properties()]
        shown += ["", table(("PROPERTY", "OF", "DEFAULT", "MEANING"), rows)]
    if plugins.failures:
        lines = [f"  {one.distribution} ({one.entry_point}): {one.reason}" for one in plugins.failures]
        shown += ["", "Not working:", *map(plain_text, lines)]
    if plugins.clashes():
        shown += ["", "Clashes:", *(plain_text(f"  {clash}") for clash in plugins.clashes())]
    return draw(shown, TerminalStyle.of_stdout())
