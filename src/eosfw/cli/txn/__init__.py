"""Offer `eosfw txn`: look at the transactions of a cluster, shut a zombie out, end what hangs (KIP-664)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eosfw.cli.command_group import SuggestingGroup
from eosfw.cli.stdout import reserved_stdout
from eosfw.cli.txn.connection import ClusterTarget, open_session
from eosfw.errors import ExitCode

_Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Transactional ids.")]
_File = Annotated[Path | None, typer.Option("--pipeline", metavar="FILE", help="Take the cluster of a pipeline file.")]
_Servers = Annotated[str | None, typer.Option("--bootstrap-servers", metavar="HOST:PORT", help="The cluster.")]
_Backend = Annotated[str | None, typer.Option("--backend", help="The client to use; by default one that can do this.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be ended.")]
_Age = Annotated[str | None, typer.Option("--older-than", metavar="TIME", help="Such as 90s, 5m, 2h.")]
_Topics = Annotated[list[str] | None, typer.Option("--topic", help="Look here only; may be repeated.")]


def group() -> typer.Typer:
    """The command with what can be done to transactions."""
    app = typer.Typer(cls=SuggestingGroup, add_completion=False, rich_markup_mode=None)
    app.callback()(_transactions)
    app.command("list", short_help="List transactional ids.")(list_)
    app.command("describe", short_help="Tell all that is known of ids.")(describe)
    app.command("hanging", short_help="Find transactions that nobody will end.")(hanging)
    app.command("fence", short_help="Shut the holders of ids out; what they left open is aborted.")(fence)
    app.command("abort", short_help="End a hanging transaction in one partition.")(abort)
    return app


def _transactions() -> None:
    """Look at the transactions of a cluster, shut a zombie out, end what hangs."""


def list_(
    *,
    states: Annotated[
        list[str] | None, typer.Option("--state", help="Ongoing, CompleteCommit, ...; may be repeated.")
    ] = None,
    older_than: _Age = None,
    producer_ids: Annotated[list[int] | None, typer.Option("--producer-id", help="May be repeated.")] = None,
    pipeline: _File = None,
    servers: _Servers = None,
    backend: _Backend = None,
    json_: _Json = False,
) -> None:
    """List the transactional ids that pass every filter."""
    from eosfw.cli.txn.arguments import parse_duration, parse_state
    from eosfw.cli.txn.queries import transaction_rows
    from eosfw.transactions import TransactionFilters

    filters = TransactionFilters(
        [parse_state(name) for name in states or ()], producer_ids or (), parse_duration(older_than)
    )
    target = ClusterTarget(pipeline, servers, backend)
    _look(target, lambda session: transaction_rows(session, filters), json_=json_)


def describe(
    ids: _Ids,
    *,
    pipeline: _File = None,
    servers: _Servers = None,
    backend: _Backend = None,
    json_: _Json = False,
) -> None:
    """Tell state, holder, age, and since which offset each partition of the open transaction is held."""
    from eosfw.cli.txn.arguments import distinct_ids
    from eosfw.cli.txn.queries import description_rows

    names, target = distinct_ids(ids), ClusterTarget(pipeline, servers, backend)
    with reserved_stdout() as write, open_session(target, "describe_transactions") as session:
        rows, failures = description_rows(session, names)
        if rows:
            write(_shown(rows, json_=json_, paragraphs=True))
    _raise_all(failures)


def hanging(
    *,
    topics: _Topics = None,
    older_than: _Age = None,
    pipeline: _File = None,
    servers: _Servers = None,
    backend: _Backend = None,
    json_: _Json = False,
) -> None:
    """Find what is open in a partition though its coordinator will write no marker there; exit code 1 if any is.

    By default only what nobody wrote to for the longest transaction timeout and five minutes.
    """
    from eosfw.cli.txn.arguments import parse_duration
    from eosfw.cli.txn.queries import hanging_rows

    age, target = parse_duration(older_than), ClusterTarget(pipeline, servers, backend)
    rows = _look(target, lambda session: hanging_rows(session, topics, age), json_=json_)
    for row in rows:
        _tell("to end it: eosfw txn abort {partition} {start_offset}".format(**row))
    raise typer.Exit(ExitCode.VERDICT_FAILED if rows else ExitCode.OK)


def fence(
    ids: _Ids,
    *,
    dry_run: _Dry = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds this may take.")] = 60.0,
    pipeline: _File = None,
    servers: _Servers = None,
    backend: _Backend = None,
    json_: _Json = False,
) -> None:
    """Shut every holder of these ids out, wait until nothing of theirs holds a reader back.

    Their next call fails as fenced, what they left open is aborted; what was committed stays. An id that nobody knows
    is refused: fencing it would help nobody.
    """
    from eosfw.cli.txn import fence_and_abort
    from eosfw.cli.txn.arguments import distinct_ids

    names, target = distinct_ids(ids), ClusterTarget(pipeline, servers, backend)
    with reserved_stdout() as write, _session(target, backend, "transactions", "describe_transactions") as session:
        if not session.can("describe_transactions"):
            _tell(fence_and_abort.unknown_ids_warning(session, names))
        rows = fence_and_abort.fencing_plan(session, names)
        if not dry_run:
            rows = fence_and_abort.fence(session, names, timeout)
        write(_shown(rows, json_=json_))
    _tell("nothing was done (--dry-run)" if dry_run else "a fenced producer hears of it with its next call")


def abort(
    where: Annotated[str, typer.Argument(metavar="PARTITION", help="Where it hangs, such as orders-0.")],
    start_offset: Annotated[int, typer.Argument(min=0, help="The offset since which it is open.")],
    *,
    dry_run: _Dry = False,
    force: Annotated[
        bool, typer.Option("--force", help="Even if its coordinator will end it: that splits a transaction.")
    ] = False,
    pipeline: _File = None,
    servers: _Servers = None,
    backend: _Backend = None,
    json_: _Json = False,
) -> None:
    """End a hanging transaction in one partition, so that its last stable offset moves."""
    from eosfw.cli.txn import fence_and_abort
    from eosfw.cli.txn.arguments import parse_partition

    one = parse_partition(where)
    target = ClusterTarget(pipeline, servers, backend)
    with (
        reserved_stdout() as write,
        _session(target, backend, "describe_transactions", "abort_transactions") as session,
    ):
        row = fence_and_abort.hanging_transaction(session, one, start_offset, force=force)
        if not dry_run:
            row = fence_and_abort.abort(session, one, start_offset)
        write(_shown([row], json_=json_))
    if dry_run:
        _tell("nothing was done (--dry-run)")


# --- what they share


def _session(target: ClusterTarget, asked: str | None, *needed: str) -> Any:
    # Whoever names a client gets it for what it can do; fencing needs no more than transactions.
    return open_session(target, *(needed[:1] if asked and needed[0] == "transactions" else needed))


def _look(
    target: ClusterTarget,
    look: Callable[[Any], Sequence[Mapping[str, Any]]],
    *,
    json_: bool,
) -> Sequence[Mapping[str, Any]]:
    with reserved_stdout() as write, open_session(target, "describe_transactions") as session:
        rows = look(session)
        if rows or json_:
            write(_shown(rows, json_=json_))
        else:
            _tell("none")
    return rows


def _shown(rows: Sequence[Mapping[str, Any]], *, json_: bool, paragraphs: bool = False) -> str:
    from eosfw.cli.txn import tables

    if json_:
        return tables.as_json(rows)
    return tables.as_paragraphs(rows) if paragraphs else tables.as_table(rows)


def _raise_all(failures: Sequence[Exception]) -> None:
    for number, one in enumerate(failures, 1):
        if number == len(failures):  # its exit code becomes that of the command
            raise one
        _tell(str(one))


def _tell(text: str) -> None:
    print(f"eosfw: {text}", file=sys.stderr)
