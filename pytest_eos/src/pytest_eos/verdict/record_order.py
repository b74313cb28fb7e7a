"""The order of records of one source partition, in each partition of the topic that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eosfw.records import SourceRecord
from pytest_eos.runs.identities import expected_identity, seen_identity
from pytest_eos.runs.record import Record
from pytest_eos.verdict.difference import EXAMPLES, identity_text


@dataclass(frozen=True, slots=True)
class OutOfOrder:
    """A record that comes before one that its source gave earlier."""

    place: str
    identity: bytes
    before: str
    """The place of the record that should have come later."""


def out_of_order(seen: Iterable[Record], expected: Sequence[Any], kind: str, connector: str) -> list[OutOfOrder]:
    """The first records that are out of order; expected ones come in the order of their source."""
    due = {expected_identity(one, kind, connector): (_source(one), n) for n, one in enumerate(expected)}
    return list(_misplaced(seen, due, kind))[:EXAMPLES]


def _misplaced(seen: Iterable[Record], due: dict[bytes, tuple[str, int]], kind: str) -> Iterator[OutOfOrder]:
    last: dict[tuple[str, int, str], tuple[int, str]] = {}
    for record in seen:
        identity = seen_identity(record, kind)
        if identity not in due:
            continue
        source, number = due[identity]
        lane = (record.topic, record.partition, source)
        if lane in last and last[lane][0] > number:
            yield OutOfOrder(record.place, identity, last[lane][1])
        else:
            last[lane] = number, record.place


def _source(one: Any) -> str:
    if isinstance(one, SourceRecord):
        return repr(sorted(one.source_partition.items()))
    return f"{one.topic}-{one.partition}" if isinstance(one, Record) else ""


def order_message(name: str, found: Sequence[OutOfOrder]) -> str:
    """The message for records out of order."""
    lines = [f"    {identity_text(one.identity)}: at {one.place}, behind a later one at {one.before}" for one in found]
    limit = f" (the first {EXAMPLES})" if len(found) == EXAMPLES else ""
    return "\n".join([f"{name} is not in the order of its source partitions{limit}:", *lines])
