"""Hints for the author of a connector: the likely causes of duplicate and missing records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from eosfw.observe import History, TaskStep
from eosfw.records import SourceRecord
from pytest_eos.runs.groups.provenance import Author
from pytest_eos.runs.identities import seen_identity
from pytest_eos.runs.run import Run
from pytest_eos.runs.run_harness import RunHarness
from pytest_eos.verdict.committed_offsets import offsets_moved_back, offsets_without_records

SUCCESSOR = (
    "a successor wrote again what was committed before it started: `start` must go on behind `context.offset(...)`"
)
ZOMBIE = "a zombie committed after its successor had read the offsets: it was not fenced"
SHARED = "two tasks read one source partition: `task_configs` must give each to one task"
TWICE = "one task gave a record twice: `poll` must move on behind what it returned"
AHEAD = "offsets lead behind records that were not written: each must lead right behind its own record"
OUTSIDE = "source offsets are visible without their records: they were not written in the transaction of those"
BACK = "source offsets went back: a zombie wrote some without its records, not in the transaction of those"
EARLIER = (
    "an earlier run wrote them, and a run has what came since it was created; judge the topic, "
    "`eos.assert_exactly_once(eos.topic({topic!r}), run.source_records())`"
)
_SHOWN = 3


def of_offsets(run: Run, sources: Sequence[SourceRecord], *, missing: bool) -> Iterator[str]:
    """The likely causes of missing records, or of records beyond the committed offsets."""
    offsets: Sequence[object] = ()
    if run.properties.get("eosfw.identity") == "headers":  # only these name their source offset
        offsets = offsets_without_records(run, sources) if missing else offsets_moved_back(run, sources)
    if offsets:
        yield f"{OUTSIDE if missing else BACK} ({', '.join(map(str, offsets[:_SHOWN]))})"
    elif missing:
        yield AHEAD


def of_earlier_run(run: Run, eos: RunHarness, missing: Collection[object], kind: str) -> Iterator[str]:
    """The reason why records are missing in a run that a topic has: they lie before the run."""
    for topic in run.topics:
        if any(seen_identity(record, kind) in missing for record in eos.topic(topic).records()):
            yield EARLIER.format(topic=topic)


def of_duplicate(authors: Sequence[Author], history: History) -> Iterator[str]:
    """The likely causes of one record that was written several times."""
    for first, second in combinations(authors, 2):
        old, new = sorted((first, second), key=lambda one: one.generation or 0)
        if old.generation != new.generation:
            yield ZOMBIE if _committed_late(old, new, history) else SUCCESSOR
        else:
            yield TWICE if old.task == new.task else SHARED


def _committed_late(old: Author, new: Author, history: History) -> bool:
    """Whether the older task committed after the newer one had read its offsets."""
    asked = committed = None
    for event in history.events():
        who = (event.task, event.generation)
        if event.step is TaskStep.READ_OFFSETS and who == (new.task, new.generation):
            asked = event.at
        by_old = who == (old.task, old.generation) and event.transaction == old.transaction
        if event.step is TaskStep.COMMITTED and by_old:
            committed = event.at
    return asked is not None and (committed is None or committed > asked)
