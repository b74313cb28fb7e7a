"""The message of a failed assertion: who wrote each duplicate, what is missing, which aborted records are visible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eosfw.config.connector import BOUNDARY
from eosfw.count_difference import Mismatch
from eosfw.ids import TopicPartition
from eosfw.records import SourceRecord
from eosfw.text import quantity
from pytest_eos.runs.groups.provenance import Author
from pytest_eos.runs.identities import expected_identity, seen_identity
from pytest_eos.runs.record import Record
from pytest_eos.runs.run import Run, Topic
from pytest_eos.runs.run_harness import RunHarness
from pytest_eos.verdict import failure_hints
from pytest_eos.verdict.difference import EXAMPLES, PLACES, Difference, identity_text
from pytest_eos.verdict.published_batches import batch_note


@dataclass(slots=True)
class Findings:
    """The result of a comparison, with what its explanation needs."""

    seen: Any
    difference: Difference
    kind: Any
    eos: RunHarness | None
    connector: str = ""
    sources: Sequence[SourceRecord | Record] = ()
    """The expected records, if they have places in their source."""
    changed: Difference | None = None
    """How the values differ if all identities agree."""
    name: str = "the DataFrame"
    """The name of what was compared."""

    @property
    def anything(self) -> bool:
        """Whether anything differs."""
        return bool(self.difference) or bool(self.changed)


def explanation(found: Findings) -> str:
    """The whole message of a failed assertion."""
    return "\n".join([_headline(found), *_body(found)])


def nothing_compared(found: Findings) -> str:
    """The message for a comparison in which nothing was seen and nothing is expected."""
    why, remedy = "", "give the source something to give"
    if isinstance(found.seen, Run) and found.eos is not None:
        calls = found.eos.plugins.calls
        why = f" {calls.summary()}"
        if found.seen.properties.get(BOUNDARY) == "connector" and any(task.records for task in calls.tasks):
            remedy = "what its tasks gave was dropped, or is in transactions that the connector has not ended"
    return (
        f"{found.name}: nothing was seen, nothing is expected, so nothing is shown: {remedy}; if that is meant: "
        f"allow_empty=True.{why}"
    )


def _headline(found: Findings) -> str:
    what = found.difference
    if not what:
        return (
            f"{found.name}: the source is not replayable: every record has its source partition and offset, but a "
            f"replay by fresh tasks gives other values"
        )
    counts = f"{quantity(what.duplicates, 'duplicate')}, {what.missing:,} missing, {what.unexpected:,} unexpected"
    return f"{found.name} is not exactly once: {counts} (records told apart by {found.kind})"


def _body(found: Findings) -> Iterator[str]:
    if found.changed:
        yield from _changed_values(found.changed)
        return
    examples = _with_places(found)
    behind = ": no such record up to the committed source offsets" if _by_tasks(found) else ": nobody expects them"
    yield from _section("duplicates", [one for one in examples if one.seen > one.expected > 0], found)
    yield from _section(f"unexpected{behind}", [one for one in examples if one.seen > one.expected == 0], found)
    yield from _missing([one for one in examples if one.seen < one.expected], found)
    aborted = _uncommitted_places(examples, found)
    if aborted:
        yield f"  aborted records became visible{_limit_note(aborted)}:"
        yield from (f"    {place}{_author_note(place, found.eos)}" for place in aborted)
    yield from (f"  likely: {cause}" for cause in dict.fromkeys(_causes(examples, aborted, found)))
    if any(one.identity is None for one in examples):
        yield "  rows whose key is null cannot be told apart: leave them out, or choose other columns"


def _by_tasks(found: Findings) -> bool:
    """Whether a connector's source says what is expected, and its tasks wrote what was seen, not a query."""
    if not any(isinstance(one, SourceRecord) for one in found.sources[:1]):
        return False
    if found.eos is None or isinstance(found.seen, Run) or not isinstance(found.seen, Topic):
        return True
    return any(not known.isdisjoint(found.seen.topics) for known in found.eos.authors.topics.values())


def _section(title: str, mismatches: Sequence[Mismatch], found: Findings) -> Iterator[str]:
    if mismatches:
        yield f"  {title}{_limit_note(mismatches)}:"
    for one in mismatches:
        if one.seen == len(one.places) == 1:
            yield f"    {identity_text(one.identity)}: at {one.places[0]}{_author_note(one.places[0], found.eos)}"
            continue
        yield f"    {identity_text(one.identity)}: {quantity(one.seen, 'time')}"
        yield from (f"      {place}{_author_note(place, found.eos)}" for place in one.places)
        if one.places and one.seen > len(one.places):
            yield f"      and at {quantity(one.seen - len(one.places), 'more place')}"


def _limit_note(mismatches: Sequence[object]) -> str:
    return f" (the first {EXAMPLES})" if len(mismatches) == EXAMPLES else ""


def _missing(mismatches: Sequence[Mismatch], found: Findings) -> Iterator[str]:
    if not mismatches:
        return
    behind = ", though the committed source offsets lie behind them" if _by_tasks(found) else ""
    yield f"  missing{behind}{_limit_note(mismatches)}:"
    sources = _sources_of(mismatches, found)
    for one in mismatches:
        source = sources.get(one.identity)
        if source is None:
            yield f"    {identity_text(one.identity)}"
        elif isinstance(source, Record):
            yield f"    {identity_text(one.identity)}: in the source at {source.place}"
        else:
            place = f"source partition {_json(source.source_partition)}, source offset {_json(source.source_offset)}"
            yield f"    {identity_text(source.value or b'')}: {place}"


def _sources_of(mismatches: Sequence[Mismatch], found: Findings) -> dict[object, SourceRecord | Record]:
    wanted = {one.identity for one in mismatches}
    if not isinstance(found.kind, str):
        return {}
    named = ((expected_identity(one, found.kind, found.connector), one) for one in found.sources)
    return {identity: one for identity, one in named if identity in wanted}


def _uncommitted_places(examples: Sequence[Mismatch], found: Findings) -> list[str]:
    """The places of surplus records that no transaction committed."""
    places = [place for one in examples if one.seen > one.expected for place in one.places if _position(place)]
    if found.eos is None or not places:
        return []
    topics = {place.rpartition("-")[0] for place in places}
    committed = frozenset[str]().union(*(found.eos.topic(topic).committed_places() for topic in sorted(topics)))
    return [place for place in places if place not in committed][:EXAMPLES]


def _causes(examples: Sequence[Mismatch], aborted: Sequence[str], found: Findings) -> Iterator[str]:
    """The likely causes; none if aborted records are visible, which no connector can cause."""
    if found.eos is None or aborted:
        return
    duplicates = [one for one in examples if one.seen > one.expected > 0]
    for one in duplicates:
        authors = [author for place in one.places if (author := _author_at(place, found.eos)) is not None]
        yield from failure_hints.of_duplicate(authors, found.eos.history)
    missing = {one.identity for one in examples if one.seen < one.expected}
    if missing and isinstance(found.seen, Run):
        earlier = list(failure_hints.of_earlier_run(found.seen, found.eos, missing, found.kind))
        if earlier:
            yield from earlier
            return
    sources = [one for one in found.sources if isinstance(one, SourceRecord)]
    if sources and _by_tasks(found) and found.eos.last_run is not None and (missing or not duplicates):
        yield from failure_hints.of_offsets(found.eos.last_run, sources, missing=bool(missing))


def _changed_values(changed: Difference) -> Iterator[str]:
    for title, wrong in (
        ("written, but not in the replay", [one for one in changed.examples if one.seen > one.expected]),
        ("in the replay, but not written", [one for one in changed.examples if one.seen < one.expected]),
    ):
        if wrong:
            yield f"  {title}: {', '.join(identity_text(one.identity) for one in wrong[:EXAMPLES])}"


def _with_places(found: Findings) -> Sequence[Mismatch]:
    """The examples with their places; a topic is read again for them."""
    examples = found.difference.examples
    if not isinstance(found.seen, Topic):
        return examples
    wanted: dict[object, list[str]] = {one.identity: [] for one in examples if one.seen}
    for record in found.seen.records():
        places = wanted.get(seen_identity(record, found.kind))
        if places is not None and len(places) < PLACES:
            places.append(record.place)
    return [Mismatch(one.identity, one.seen, one.expected, tuple(wanted.get(one.identity, ()))) for one in examples]


def _author_note(place: str, eos: RunHarness | None) -> str:
    """The task and the producer that wrote the record at a place, as far as they are known."""
    where = _position(place)
    if eos is None or where is None:
        return ""
    author, producer = _author_at(place, eos), eos.cluster.producer_of(*where)
    writers = [] if author is None else [str(author)]
    writers += [] if producer is None else [f"producer {producer.producer_id} epoch {producer.epoch}"]
    writers += [] if producer is None else batch_note(eos, producer)
    return f"  by {', '.join(writers)}" if writers else ""


def _author_at(place: str, eos: RunHarness) -> Author | None:
    where = _position(place)
    return where and eos.authors.at(*where)


def _position(place: str) -> tuple[TopicPartition, int] | None:
    """The partition and offset of a place such as `topic-0@7`; None for another place."""
    found = re.fullmatch(r"(.+)-(\d+)@(\d+)", place)
    return found and (TopicPartition(found[1], int(found[2])), int(found[3]))


def _json(mapping: Any) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, separators=(",", ":"))
