"""Group the records that a run made visible by the transactions that committed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from eosfw.observe import StepEvent, TaskStep
from pytest_eos.runs.groups.provenance import Author, author_of
from pytest_eos.runs.record import Record

Place = tuple[str, int, int]
"""Topic, partition, offset."""


def committed_transactions(
    connector: str, records: Iterable[Record], authors: Mapping[Place, Author], events: Iterable[StepEvent]
) -> list[list[Record]]:
    """The records of each committed transaction of a connector, in the order of commits."""
    visible = {(record.topic, record.partition, record.offset): record for record in records}
    written: dict[Author, list[Record]] = {}
    for place, author in authors.items():
        if author.task.connector == connector and place in visible:
            written.setdefault(author, []).append(visible.pop(place))
    if visible:
        strange = next(iter(visible.values()))
        raise ValueError(
            f'nobody knows which transaction wrote {strange.place}: give the connector "eosfw.identity" = "headers", '
            f"and write to its topic by no other way"
        )
    return list(_committed(events, {who: iter(some) for who, some in written.items()}))


def _committed(events: Iterable[StepEvent], written: Mapping[Author, Iterator[Record]]) -> Iterator[list[Record]]:
    for event in events:
        author = author_of(event)
        if author is None or author not in written or event.step is not TaskStep.COMMITTED:
            continue
        # A restarted task counts its transactions from 1 again, so one author may stand for several transactions. The
        # commit event says how many records each of them has.
        if records := list(islice(written[author], int(str(event.detail["records"])))):
            yield records
