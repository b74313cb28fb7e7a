"""Whether each micro-batch of a Spark query is visible whole, and once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Facts
from eosfw.checker.operation import NONE, Operation
from eosfw.text import quantity

Batch = tuple[str, int]
"""A query, and the number of its batch."""


def repeated_batches(facts: Facts) -> Iterator[Anomaly]:
    """A row of a batch is visible twice: the batch was published again, or by two attempts of one Spark task."""
    tokens = _tokens(facts)
    for batch, rows in _visible_rows(facts).items():
        first: dict[tuple[str, int], Operation] = {}
        for row in rows:
            before = first.setdefault((row.src_part, row.src_off), row)
            if before is row:
                continue
            places = f"{before.part}@{before.off} and {row.part}@{row.off}"
            what = f"row {row.src_off} of {row.src_part}, batch {batch[1]} of {batch[0]}, is visible at {places}"
            attempts = NONE not in (before.gen, row.gen) and before.gen != row.gen
            same = (before.pid, before.epoch) == (row.pid, row.epoch)
            name = "two-attempts" if attempts and same else "batch-replayed"
            yield anomaly(name, what, [before, row, *tokens[batch][:2]])
            break


def incomplete_batches(facts: Facts) -> Iterator[Anomaly]:
    """Of a batch that was published or finished, rows are missing."""
    tokens, visible = _tokens(facts), _visible_rows(facts)
    finished = {(each.connector, each.txn): each for each in facts.of("checkpoint")}
    for batch, published in tokens.items():
        rows = {(row.src_part, row.src_off): row for row in visible.get(batch, ())}
        due = published[0].count
        if due != NONE and len(rows) < due and (rows or batch not in finished):
            what = f"of batch {batch[1]} of {batch[0]}, {len(rows)} of {due} rows are visible"
            yield anomaly("partial-batch", what, [*list(rows.values())[:2], published[0]])
    for batch, checkpoint in finished.items():
        lost = batch not in tokens or tokens[batch][0].count > 0
        if batch not in visible and lost:
            what = f"batch {batch[1]} of {batch[0]} is finished by its checkpoint, and none of its rows is visible"
            yield anomaly("lost-batch", what, [*tokens.get(batch, ())[:1], checkpoint])


def rows_of_no_batch(facts: Facts) -> str | None:
    """Why a history of batches shows nothing: rows are visible that nobody is known to have written."""
    if not facts.of("token"):
        return None
    seen = [row for entries in facts.log.values() for row in entries if row.op == "log" and row.visible]
    nameless = [row for row in seen if not (row.connector or row.src_part or row.val in facts.writer_of)]
    if not nameless:
        return None
    rows, first = quantity(len(nameless), "visible row"), f"{nameless[0].part}@{nameless[0].off}"
    return f"{rows}, the first at {first}, are of no batch: no token has the producer and the epoch of its transaction"


def _tokens(facts: Facts) -> dict[Batch, list[Operation]]:
    found: dict[Batch, list[Operation]] = defaultdict(list)
    for token in facts.of("token"):
        if token.visible:
            found[token.connector, token.txn].append(token)
    return found


def _visible_rows(facts: Facts) -> dict[Batch, list[Operation]]:
    found: dict[Batch, list[Operation]] = defaultdict(list)
    for entries in facts.log.values():
        for entry in entries:
            if entry.visible and entry.txn != NONE and entry.connector:
                found[entry.connector, entry.txn].append(entry)
    return found


CHECKS = (
    Check(("batch-replayed", "two-attempts"), ("token", "log.txn"), repeated_batches),
    Check(("partial-batch", "lost-batch"), ("token", "checkpoint", "log.txn"), incomplete_batches),
)
