"""Group the records that a run made visible by the transactions that committed them."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.observe import StepEvent, TaskStep
from pytest_eos.runs.groups.provenance import Author, Authors
from pytest_eos.runs.record import Record


def committed_transactions(
    connector: str, records: Iterable[Record], authors: Authors, events: Iterable[StepEvent]
) -> list[list[Record]]:
    """The records of each committed transaction of a connector, in the order of commits."""
    visible = {(record.topic, record.partition, record.offset): record for record in records}
    written: dict[Author | None, list[Record]] = {}
    for place, author in authors.places().items():
        if author.task.connector == connector and place in visible:
            written.setdefault(author, []).append(visible.pop(place))
    if visible:
        strange = next(iter(visible.values()))
        raise ValueError(
            f'nobody knows which transaction wrote {strange.place}: give the connector "eosfw.identity" = "headers", '
            f"and write to its topic by no other way"
        )
    committed = (authors.author_of(event) for event in events if event.step is TaskStep.COMMITTED)
    return [written[author] for author in committed if author in written]
