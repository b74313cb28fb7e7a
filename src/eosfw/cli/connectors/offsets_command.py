"""The command line of `eosfw connectors offsets`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from eosfw.cli.connectors.client import RestClient, RestTarget
from eosfw.cli.output.rows import RowFormat
from eosfw.cli.output.standard_streams import print_message
from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.command_group import command_group
from eosfw.cli.parsing.limits import utf8

_Name = Annotated[str, typer.Argument(metavar="CONNECTOR", help="Its name.", callback=utf8)]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
_HELP = "Look at a connector's source offsets, change them, all or none (KIP-875)."


def group() -> typer.Typer:
    """The commands for a connector's source offsets."""
    return command_group(
        _HELP,
        ("show", show, "Print the committed source offsets."),
        ("set", set_, "Change source offsets of a stopped connector."),
        ("reset", reset, "Delete all source offsets of a stopped connector."),
    )


def show(name: _Name, target: RestTarget, *, json_: _Json = False) -> None:
    """Print the committed source offsets; with --json in the form that `offsets set` reads."""
    from eosfw.cli.connectors.rows import offset_rows

    found = RestClient(target).get("connectors", name, "offsets")["offsets"]
    if json_:
        print_data(json.dumps({"offsets": found}, ensure_ascii=False))
    else:
        _print_rows(offset_rows(found), "no offset is committed")


def set_(
    name: _Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="As `offsets show --json` prints it; - is stdin.")],
    target: RestTarget,
    *,
    dry_run: _Dry = False,
) -> None:
    """Change the source offsets that a file names; an offset of null deletes one. The connector must be stopped."""
    from eosfw.cli.connectors.json_files import read_offsets
    from eosfw.cli.connectors.rows import changed_offsets

    wanted, client = read_offsets(file), RestClient(target)
    rows = changed_offsets(client.get("connectors", name, "offsets")["offsets"], wanted)
    _print_rows(rows, "nothing would change" if dry_run else "nothing changes")
    if rows and not dry_run:
        _print_answer(client.request("PATCH", ("connectors", name, "offsets"), {"offsets": wanted}))
    elif dry_run:
        print_message("nothing was done (--dry-run)")


def reset(name: _Name, target: RestTarget, *, dry_run: _Dry = False) -> None:
    """Delete all source offsets, so that the connector begins anew; what it sent before is sent again."""
    from eosfw.cli.connectors.rows import reset_offsets

    client = RestClient(target)
    rows = reset_offsets(client.get("connectors", name, "offsets")["offsets"])
    _print_rows(rows, "no offset is committed")
    if dry_run:
        print_message("nothing was done (--dry-run)")
    else:  # also with nothing stored: a connector may keep offsets of its own in the source
        _print_answer(client.request("DELETE", ("connectors", name, "offsets")))


def _print_rows(rows: Sequence[Mapping[str, Any]], none: str) -> None:
    if rows:
        print_data(RowFormat.of_stdout("offsets", json=False).table(rows))
    else:
        print_message(none)


def _print_answer(answer: Mapping[str, Any]) -> None:
    print_message(str(answer["message"]))
