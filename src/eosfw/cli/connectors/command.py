"""The command line of `eosfw connectors`."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from eosfw.cli.connectors import offsets_command
from eosfw.cli.connectors.client import RestClient, RestTarget
from eosfw.cli.output.rows import RowFormat
from eosfw.cli.output.standard_streams import print_message
from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.command_group import command_group
from eosfw.cli.parsing.limits import utf8

_Name = Annotated[str, typer.Argument(metavar="CONNECTOR", help="Its name.", callback=utf8)]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


class InitialState(StrEnum):
    """The state in which a connector is created (KIP-980)."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


_HELP = """List, create and control the connectors of a worker group, by Kafka Connect's REST interface.

Credentials are taken from the environment: EOSFW_REST_TOKEN, or EOSFW_REST_USER and EOSFW_REST_PASSWORD."""


def group() -> typer.Typer:
    """The command with what can be done to the connectors of a worker group."""
    app = command_group(
        _HELP,
        ("list", list_, "List the connectors of the group."),
        ("create", create, "Create a connector from a file."),
        ("status", status, "Tell the states of a connector and its tasks."),
        ("pause", pause, "Let tasks wait; they keep their clients."),
        ("resume", resume, "Let a paused or stopped connector run."),
        ("stop", stop, "End the tasks, keep the connector."),
        ("restart", restart, "Restart a connector, or tasks of it."),
        ("delete", delete, "Delete a connector; its offsets stay."),
        ("health", health, "Tell whether the worker itself is ready."),
    )
    app.add_typer(offsets_command.group(), name="offsets", short_help="Look at source offsets, change them.")
    return app


def list_(target: RestTarget, *, json_: _Json = False) -> None:
    """List the connectors of the group with their states."""
    from eosfw.cli.connectors.rows import connector_rows

    rows = connector_rows(RestClient(target))
    if rows or json_:
        print_data(RowFormat.of_stdout("connectors", json=json_).table(rows))
    else:
        print_message("none")


def create(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON with `name` and `config`, or with the properties; - is stdin.")
    ],
    target: RestTarget,
    *,
    initial_state: Annotated[
        InitialState | None, typer.Option(help="The state to create it in; RUNNING by default.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change the connector if there is one.")] = False,
) -> None:
    """Create a connector from a file, and print its name."""
    from eosfw.cli.connectors.json_files import read_connector

    name, config = read_connector(file)
    client = RestClient(target)
    if replace and initial_state is not None:
        raise typer.BadParameter(
            "only for a connector that is created: leave --replace out", param_hint="--initial-state"
        )
    if replace:
        client.request("PUT", ("connectors", name, "config"), {"name": name, **config})
    else:
        state = {} if initial_state is None else {"initial_state": initial_state.value}
        client.request("POST", ("connectors",), {"name": name, "config": config, **state})
    print_data(name)


def status(name: _Name, target: RestTarget, *, json_: _Json = False) -> None:
    """Tell the states of a connector and its tasks, and why they failed; exit code 1 if any has."""
    from eosfw.cli.connectors.rows import status_rows

    found = RestClient(target).get("connectors", name, "status")
    rows = status_rows(found)
    print_data(json.dumps(found) if json_ else RowFormat.of_stdout("states", json=False).table(rows))
    raise typer.Exit(any(row["state"] == "FAILED" for row in rows))


def pause(name: _Name, target: RestTarget) -> None:
    """Ask the group to pause a connector: its tasks commit what is open, then wait."""
    _change("PUT", target, "connectors", name, "pause")


def resume(name: _Name, target: RestTarget) -> None:
    """Ask the group to run a paused or stopped connector."""
    _change("PUT", target, "connectors", name, "resume")


def stop(name: _Name, target: RestTarget) -> None:
    """Ask the group to end the tasks of a connector; offsets can be changed then."""
    _change("PUT", target, "connectors", name, "stop")


def restart(
    name: _Name,
    target: RestTarget,
    *,
    task: Annotated[int | None, typer.Option(min=0, help="Restart this task alone.")] = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="Restart the tasks, too.")] = False,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Restart only what has failed.")] = False,
) -> None:
    """Restart a connector, or tasks of it."""
    client = RestClient(target)
    if task is not None:
        if tasks or only_failed:
            raise typer.BadParameter("restarts one task: leave --tasks and --only-failed out", param_hint="--task")
        client.request("POST", ("connectors", name, "tasks", str(task), "restart"))
    else:
        query = {"includeTasks": str(tasks).lower(), "onlyFailed": str(only_failed).lower()}
        client.request("POST", ("connectors", name, "restart"), query=query)


def delete(name: _Name, target: RestTarget) -> None:
    """Delete a connector. Its source offsets stay: one of the same name goes on behind them."""
    _change("DELETE", target, "connectors", name)


def health(target: RestTarget) -> None:
    """Tell whether the worker has joined its group and answers; exit code 6 if not. For probes, with credentials."""
    print_data(RestClient(target).get("health")["message"])


def _change(method: str, target: RestTarget, *path: str) -> Any:
    return RestClient(target).request(method, path)
