"""Histories as files: one operation a line, in the order of time, and a last line that says that nothing is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from eosfw.checker.operation import INVOKE, Operation, operation_from_json, operation_to_json
from eosfw.errors import DamagedDataError
from eosfw.garbage_collection import collection_paused

_CALLS: Final = frozenset({"init", "send", "commit", "abort", "fence"})
"""Operations with an `invoke` of their own."""


def read_history(path: Path) -> list[Operation]:
    """The operations of a file.

    A last line without its newline was cut off while it was written, and is left out: the history then has no `end`.
    DamagedDataError names the file and the line of whatever cannot be in a history.
    """
    with path.open(encoding="utf-8", errors="replace") as lines, collection_paused():
        return list(_checked(_parsed(lines, path), path))


def write_history(path: Path, operations: Iterable[Operation]) -> None:
    """Write operations to a file, replacing it."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(operation_to_json(operation) + "\n" for operation in operations)


def _parsed(lines: Iterable[str], path: Path) -> Iterator[Operation]:
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            return
        try:
            yield operation_from_json(line)
        except DamagedDataError as why:
            raise _malformed(path, number, str(why)) from None


def _checked(operations: Iterable[Operation], path: Path) -> Iterator[Operation]:
    """The operations, if they are numbered, go forward in time, and no call ends that did not begin."""
    time = 0.0
    pending: set[tuple[object, ...]] = set()
    for number, operation in enumerate(operations, 1):
        if operation.i != number - 1:
            raise _malformed(path, number, f"has the number {operation.i}, not {number - 1}")
        if operation.t < time:
            raise _malformed(path, number, f"goes back in time, from {time} to {operation.t}")
        time = operation.t
        if operation.op in _CALLS:
            call = (operation.op, operation.proc, operation.tid, operation.txn, operation.val, operation.gen)
            if operation.type == INVOKE:
                pending.add(call)
            elif call in pending:
                pending.remove(call)
            else:
                raise _malformed(path, number, f"ends a call of {operation.op!r} that did not begin, or ended before")
        yield operation


def _malformed(path: Path, number: int, why: str) -> DamagedDataError:
    return DamagedDataError(f"{path}, line {number}: {why}; is this a history, one operation a line?")
