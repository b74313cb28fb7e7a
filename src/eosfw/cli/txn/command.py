"""The command line of `eosfw txn`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from eosfw.cli.connection import ClusterTarget, Session, open_session
from eosfw.cli.output.rows import RowFormat
from eosfw.cli.output.standard_streams import print_message
from eosfw.cli.output.stdout import reserved_stdout
from eosfw.cli.parsing.command_group import command_group
from eosfw.cli.parsing.limits import MOST_INT64, seconds, utf8
from eosfw.errors import ExitCode

_Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Transactional ids.", callback=utf8)]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be ended.")]
_Age = Annotated[str | None, typer.Option("--older-than", metavar="TIME", help="Such as 90s, 5m, 2h.")]
_Topics = Annotated[list[str] | None, typer.Option("--topic", help="Look here only; may be repeated.", callback=utf8)]
_DESCRIBE = "describe_transactions"
_HELP = "Look at the transactions of a cluster, shut a zombie out, end what hangs."


def group() -> typer.Typer:
    """The command with what can be done to transactions."""
    return command_group(
        _HELP,
        ("list", list_, "List transactional ids."),
        ("describe", describe, "Tell all that is known of ids."),
        ("hanging", hanging, "Find transactions that no coordinator will end."),
        ("fence", fence, "Shut the holders of ids out; what they left open is aborted."),
        ("abort", abort, "End a hanging transaction in one partition."),
    )


def list_(
    target: ClusterTarget,
    *,
    states: Annotated[
        list[str] | None, typer.Option("--state", help="Ongoing, CompleteCommit, ...; may be repeated.")
    ] = None,
    older_than: _Age = None,
    producer_ids: Annotated[
        list[int] | None, typer.Option("--producer-id", min=-1, max=MOST_INT64, help="May be repeated.")
    ] = None,
    json_: _Json = False,
) -> None:
    """List the transactional ids that pass every filter."""
    from eosfw.cli.txn.arguments import parse_duration, parse_state
    from eosfw.cli.txn.queries import transaction_rows
    from eosfw.transactions import TransactionFilters

    known_states = [parse_state(name) for name in states or ()]
    filters = TransactionFilters(known_states, producer_ids or (), parse_duration(older_than))
    _print_rows(target, lambda session: transaction_rows(session, filters), json_=json_)


def describe(ids: _Ids, target: ClusterTarget, *, json_: _Json = False) -> None:
    """Tell state, holder, age, and since which offset each partition of the open transaction is held."""
    from eosfw.cli.txn.arguments import distinct_ids
    from eosfw.cli.txn.queries import description_rows

    names, shown = distinct_ids(ids), RowFormat.of_stdout("transactions", json=json_)
    with reserved_stdout() as write, open_session(target, _DESCRIBE) as session:
        rows, failures = description_rows(session, names)
        if rows:
            write(shown.paragraphs(rows))
    _raise_last(failures)


def hanging(target: ClusterTarget, *, topics: _Topics = None, older_than: _Age = None, json_: _Json = False) -> None:
    """Find what is open in a partition though its coordinator will write no marker there; exit code 1 if any is.

    By default only where nothing was written for the longest transaction timeout and five minutes.
    """
    from eosfw.cli.txn.arguments import parse_duration
    from eosfw.cli.txn.queries import hanging_rows

    age = parse_duration(older_than)
    rows = _print_rows(target, lambda session: hanging_rows(session, topics, age), json_=json_)
    for row in rows:
        print_message("to end it: eosfw txn abort {partition} {start_offset}".format(**row))
    raise typer.Exit(ExitCode.VERDICT_FAILED if rows else ExitCode.OK)


def fence(
    ids: _Ids,
    target: ClusterTarget,
    *,
    dry_run: _Dry = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds this may take.", callback=seconds)] = 60.0,
    json_: _Json = False,
) -> None:
    """Shut every holder of these ids out, wait until nothing of theirs holds a reader back.

    Their next call fails as fenced, what they left open is aborted; what was committed stays. An unknown id is
    refused: no producer would be fenced. With --pipeline, its tasks' ids are fenced by the fencer that it chooses.
    """
    from eosfw.cli.txn import fence_and_abort
    from eosfw.cli.txn.arguments import distinct_ids

    names, shown = distinct_ids(ids), RowFormat.of_stdout("transactions", json=json_)
    # A client that is named must only fence; one that is chosen here must describe transactions, too.
    needed = ("transactions",) if target.backend else ("transactions", _DESCRIBE)
    with reserved_stdout() as write, open_session(target, *needed) as session:
        if not session.can(_DESCRIBE):
            print_message(fence_and_abort.unknown_ids_warning(session, names))
        rows = fence_and_abort.fencing_plan(session, names)
        if not dry_run:
            rows = fence_and_abort.fence(session, names, timeout)
        write(shown.table(rows))
    print_message("nothing was done (--dry-run)" if dry_run else "a fenced producer hears of it with its next call")


def abort(
    where: Annotated[str, typer.Argument(metavar="PARTITION", help="Where it hangs, such as orders-0.", callback=utf8)],
    start_offset: Annotated[int, typer.Argument(min=0, max=MOST_INT64, help="The offset since which it is open.")],
    target: ClusterTarget,
    *,
    dry_run: _Dry = False,
    force: Annotated[
        bool, typer.Option("--force", help="Even if its coordinator will end it: that splits a transaction.")
    ] = False,
    json_: _Json = False,
) -> None:
    """End a hanging transaction in one partition, so that its last stable offset moves."""
    from eosfw.cli.txn import fence_and_abort
    from eosfw.cli.txn.arguments import parse_partition

    one, shown = parse_partition(where), RowFormat.of_stdout("transactions", json=json_)
    with reserved_stdout() as write, open_session(target, _DESCRIBE, "abort_transactions") as session:
        row = fence_and_abort.hanging_transaction(session, one, start_offset, force=force)
        if not dry_run:
            row = fence_and_abort.abort(session, one, start_offset)
        write(shown.table([row]))
    if dry_run:
        print_message("nothing was done (--dry-run)")


# --- what the commands share


def _print_rows(
    target: ClusterTarget, query: Callable[[Session], Sequence[Mapping[str, Any]]], *, json_: bool
) -> Sequence[Mapping[str, Any]]:
    shown = RowFormat.of_stdout("transactions", json=json_)
    with reserved_stdout() as write, open_session(target, _DESCRIBE) as session:
        rows = query(session)
        if rows or json_:
            write(shown.table(rows))
        else:
            print_message("none")
    return rows


def _raise_last(failures: Sequence[Exception]) -> None:
    """Print all failures but the last, which is raised: its exit code becomes that of the command."""
    for one in failures[:-1]:
        print_message(str(one))
    for one in failures[-1:]:
        raise one
