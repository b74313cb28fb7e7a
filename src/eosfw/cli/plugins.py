"""Offer `eosfw plugins`: what is installed, what of it does not work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosfw.cli.stdout import print_data

if TYPE_CHECKING:
    from eosfw.registry import Plugins


def command(*, json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False) -> None:
    """List every backend, cluster, store, fencer, reader, connector and step engine, and what fails to load."""
    from eosfw.registry import load_plugins

    plugins = load_plugins()
    print_data(json.dumps(_as_json(plugins)) if json_ else _as_text(plugins))


def _as_json(plugins: Plugins) -> dict[str, Any]:
    return {
        "plugins": [row._asdict() for row in plugins.all()],
        "failures": [failure._asdict() for failure in plugins.failures],
        "clashes": plugins.clashes(),
    }


def _as_text(plugins: Plugins) -> str:
    lines = _columns([("ROLE", "NAME", "DISTRIBUTION", "VERSION"), *plugins.all()])
    if plugins.failures:
        lines += ["", "Not working:"]
        lines += [f"  {one.distribution} ({one.entry_point}): {one.reason}" for one in plugins.failures]
    if plugins.clashes():
        lines += ["", "Clashes:", *(f"  {clash}" for clash in plugins.clashes())]
    return "\n".join(lines)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
