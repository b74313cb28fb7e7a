"""The command line of `eosfw acl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosfw.cli.acl.group_files import GroupFiles
from eosfw.cli.output.rows import RowFormat
from eosfw.cli.output.standard_streams import print_message
from eosfw.cli.output.stdout import print_data, reserved_stdout
from eosfw.cli.parsing.command_group import command_group
from eosfw.cli.parsing.limits import utf8
from eosfw.errors import ExitCode

if TYPE_CHECKING:
    from eosfw.runtime.checks.acl_plan import AclBinding

_Name = Annotated[str, typer.Argument(metavar="CONNECTOR", help="Its name.", callback=utf8)]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
_Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", help="A topic it writes to, beside its `topic`; may be repeated.", callback=utf8),
]
_Prefixed = Annotated[
    bool, typer.Option("--prefixed", help="Its transactional ids as one prefix, so that tasks.max may grow.")
]
_HELP = "Tell which ACLs a worker group and a connector need, and which of them are there."


def group() -> typer.Typer:
    """The command with what can be known of rights."""
    return command_group(
        _HELP,
        ("plan", plan, "List the least rights of a group and a connector."),
        ("check", check, "Probe them at the cluster, changing nothing."),
    )


def plan(
    connector: _Name,
    files: GroupFiles,
    *,
    topics: _Topics = None,
    prefixed: _Prefixed = False,
    commands: Annotated[bool, typer.Option("--commands", help="As calls of kafka-acls.sh.")] = False,
    worker_principal: Annotated[str, typer.Option(help="Whom the calls allow what workers need.")] = "User:WORKER",
    connector_principal: Annotated[
        str, typer.Option(help="Whom the calls allow what the connector needs.")
    ] = "User:CONNECTOR",
    json_: _Json = False,
) -> None:
    """List the exact transactional ids, topics and groups, with the operations that each client needs on them.

    Without overrides of its clients a connector works under the principal of its workers.
    """
    from eosfw.cli.acl.group_files import read_group
    from eosfw.runtime.checks.acl_plan import Holder, acl_plan, merged

    described = read_group(files)
    bindings = merged(acl_plan(described.worker, described.connector(connector), topics or (), prefixed=prefixed))
    if commands and not json_:
        principals = {one.value: connector_principal for one in Holder} | {Holder.WORKER.value: worker_principal}
        servers = described.cluster.get("bootstrap.servers", "HOST:PORT")
        print_data(_kafka_acls_commands(bindings, servers, principals))
        return
    print_data(RowFormat.of_stdout("acls", json=json_).table(_plan_rows(bindings, json_=json_)))


def check(
    connector: _Name,
    files: GroupFiles,
    *,
    topics: _Topics = None,
    backend: Annotated[str | None, typer.Option("--backend", help="The client to use.")] = None,
    json_: _Json = False,
) -> None:
    """Ask the cluster which of these rights the principal of the file has; exit code 1 if one is missing.

    Nothing is written, created, joined or fenced, so some rights cannot be probed: the answer says which, and why.
    Run it before the old generation of a connector is stopped.
    """
    from contextlib import closing

    from eosfw.cli.acl.group_files import read_group
    from eosfw.cli.acl.probes import AclProbes, Answer, probe_all
    from eosfw.cli.acl.session import connected
    from eosfw.runtime.checks.acl_plan import acl_plan, merged

    shown = RowFormat.of_stdout("acls", json=json_)
    described = read_group(files)
    bindings = merged(acl_plan(described.worker, described.connector(connector), topics or ()))
    with (
        reserved_stdout() as write,
        connected(described, backend, "describe_transactions") as client,
        closing(client.admin()) as admin,
    ):
        rows = probe_all(AclProbes(client, admin), bindings)
        write(shown.table(rows))
    counts = {answer: sum(row["answer"] == answer.value for row in rows) for answer in Answer}
    print_message(", ".join(f"{count} {answer.value}" for answer, count in counts.items()))
    if counts[Answer.MISSING]:
        raise typer.Exit(ExitCode.VERDICT_FAILED)


def _plan_rows(bindings: Sequence[AclBinding], *, json_: bool) -> list[dict[str, Any]]:
    return [
        {
            "client": one.holder.value,
            "resource": one.resource.value,
            "name": one.name if json_ or not one.prefixed else f"{one.name}*",
            "operations": list(one.operations),
            "purpose": one.purpose + (" (only while it is absent)" if one.only_if_absent and not json_ else ""),
            **({"prefixed": one.prefixed, "only_if_absent": one.only_if_absent} if json_ else {}),
        }
        for one in bindings
    ]


def _kafka_acls_commands(bindings: Sequence[AclBinding], servers: str, principals: Mapping[str, str]) -> str:
    """One command for each entry; `principals` by the holder of the right."""
    from eosfw.security import kafka_acls_command

    return "\n".join(
        kafka_acls_command(
            servers, principals[one.holder.value], one.operations, one.resource.value, one.name, prefixed=one.prefixed
        )
        for one in bindings
    )
