"""`eosfw timeline`: draw the events that show an anomaly, or a part of a history."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from eosfw.cli.output.stdout import reserved_stdout
from eosfw.errors import ConfigError, Problem
from eosfw.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eosfw.checker import Anomaly, Operation
    from eosfw.observe.timeline.sequence import SequenceEvent

_MOST: Final = 60
"""How many events a picture has at the most: more are no longer read."""
_EVENTS: Final = re.compile(r"(\d{1,18}):(\d{1,18})")
_NONE: Final = -1
_STORED: Final = ("log", "config", "token")


def command(
    history: Annotated[Path, typer.Argument(help="A history: one operation a line, the last one `end`.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="The picture; HISTORY with the suffix .svg if absent."),
    ] = None,
    anomaly: Annotated[
        str | None, typer.Option("--anomaly", metavar="NAME", help="Draw the first anomaly of this name.")
    ] = None,
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="FIRST:LAST", help=f"Draw these events of the history, {_MOST} at the most."),
    ] = None,
) -> None:
    """Draw the events that show the first anomaly of a history: a lane for each who acted, in the order of time.

    The picture is an SVG file without references, which every browser shows.
    """
    from eosfw.checker import read_history
    from eosfw.config.named_file import unreadable
    from eosfw.observe.timeline.sequence import sequence_svg

    if output is not None and output.suffix != ".svg":
        raise typer.BadParameter(f"--output {output.name}: end its name in .svg")
    if anomaly is not None and events is not None:
        raise typer.BadParameter("name an anomaly or events, not both")
    wanted = None if events is None else _range(events)
    try:
        operations = read_history(history)
    except OSError as why:
        raise ConfigError(Problem(str(history), unreadable(why))) from None
    output = history.with_suffix(".svg") if output is None else output
    if wanted is None:
        found = _chosen(history, operations, anomaly)
        title, shown = readable(f"{found.name}: {found.what}"), found.witness
    else:
        title, shown = f"events {events} of {history.name}", tuple(operations[wanted])
        if not shown:
            raise typer.BadParameter(f"--events {events}: {history.name} has {len(operations):,} events, from 0")
    try:
        output.write_text(sequence_svg(title, [_event(each) for each in shown]), encoding="utf-8")
    except OSError as why:
        raise ConfigError(Problem(str(output), f"cannot be written: {why.strerror or why}")) from None
    with reserved_stdout() as write:
        write(f"{title}\n{output}")


def _range(events: str) -> slice:
    written = _EVENTS.fullmatch(events)
    first, last = map(int, written.groups()) if written else (0, _MOST)
    if not first <= last < first + _MOST:
        raise typer.BadParameter(f"--events {events}: write FIRST:LAST, such as 120:150, {_MOST} events at the most")
    return slice(first, last + 1)


def _chosen(history: Path, operations: Sequence[Operation], name: str | None) -> Anomaly:
    """The first anomaly, or the first of a name; ConfigError if there is none."""
    from eosfw.checker import check_history

    found = check_history(operations).anomalies
    for each in found:
        if name in (None, each.name):
            return each
    names = ", ".join(dict.fromkeys(each.name for each in found))
    has = f"shows {names}, and not {name}" if found else "shows no anomaly; --events FIRST:LAST draws a part of it"
    raise ConfigError(Problem(str(history), has))


def _event(operation: Operation) -> SequenceEvent:
    from eosfw.observe.timeline.sequence import Phase, SequenceEvent

    phases = {"invoke": Phase.BEGUN, "ok": Phase.DONE, "fail": Phase.REFUSED, "info": Phase.UNKNOWN}
    reads = [value for _, _, value in operation.reads]
    return SequenceEvent(
        number=operation.i,
        seconds=operation.t,
        lane=readable(operation.proc),
        what=f"{operation.op} {operation.type}" if operation.type != "ok" else operation.op,
        phase=phases[operation.type],
        facts=tuple(map(readable, _facts(operation))),
        call=(operation.op, operation.tid, operation.txn, operation.val, operation.gen),
        values=frozenset([*([operation.val] if operation.val else ()), *reads]),
    )


def _facts(operation: Operation) -> Iterator[str]:
    """What an operation says, as a person reads it: the record, then who sent it."""
    if operation.part:
        yield operation.part + (f" at {operation.off}" if operation.off != _NONE else "")
    if operation.val and operation.val != f"{operation.part}@{operation.off}":
        yield f"transaction.boundary={operation.val}" if operation.op == "start" else operation.val
    yield from (value if value == f"{part}@{off}" else f"{part}@{off}: {value}" for part, off, value in operation.reads)
    if operation.control:
        yield f"control record: {operation.control}"
    if operation.op in _STORED:
        yield "visible" if operation.visible else "not visible"
    if operation.src_part:
        where = f"record {operation.src_off} of " if operation.src_off != _NONE else ""
        yield f"source: {where}{operation.src_part}"
    yield from _origin(operation)


def _origin(operation: Operation) -> Iterator[str]:
    if operation.gen != _NONE:
        yield f"generation {operation.gen}" + (f" of {operation.connector}" if operation.connector else "")
    if operation.tid:
        yield (f"transaction {operation.txn} of " if operation.txn != _NONE else "") + operation.tid
    numbers = {"producer": operation.pid, "epoch": operation.epoch, "sequence": operation.seq, "count": operation.count}
    if known := ", ".join(f"{name} {number}" for name, number in numbers.items() if number != _NONE):
        yield known
    yield from (text for text in (", ".join(operation.ids), operation.err) if text)
