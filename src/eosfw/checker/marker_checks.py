"""Whether control records agree with each other, with the answers to producers, and with what readers see (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterator

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts, Writer
from eosfw.checker.operation import NONE, Operation


def wrong_markers(facts: Facts) -> Iterator[Anomaly]:
    """The control records of a transaction contradict each other, or what its producer was answered."""
    first: dict[Writer, Operation] = {}
    for ended in facts.segments.values():
        for segment in ended:
            marker = segment.marker
            for record in segment.records[:1]:
                writer = facts.writer_of.get(record.val)
                if writer is None or marker is None:
                    continue
                other = first.setdefault(writer, marker)
                if other.control != marker.control:
                    what = f"a transaction has {other.control} in {other.part} and {marker.control} in {marker.part}"
                    yield anomaly("marker-fault", what, [*facts.story_of(record.val), other, record, marker])
                elif _contradicts(facts.transactions[writer].decision, marker):
                    what = f"{marker.part}@{marker.off} is {marker.control}, against what the producer was answered"
                    yield anomaly("marker-fault", what, [*facts.story_of(record.val), record, marker])


def _contradicts(decision: Decision, marker: Operation) -> bool:
    return (decision, marker.control) in ((Decision.COMMITTED, "abort"), (Decision.ABORTED, "commit"))


def opposite_markers(facts: Facts) -> Iterator[Anomaly]:
    """A transaction is committed and aborted in one partition.

    It shows where each transaction raises the epoch (KIP-890). With the older protocol a second control record in one
    epoch may be that of a transaction that has written nothing here. The same control record twice is legal: a
    coordinator writes it again where the answer was lost.
    """
    for part, ended in facts.segments.items():
        newest: dict[int, Operation] = {}
        raising: set[int] = set()
        for segment in ended:
            marker = segment.marker
            if marker is None:
                continue
            if segment.committed and any(record.epoch < marker.epoch for record in segment.records):
                raising.add(marker.pid)
            before = newest.get(marker.pid)
            same = before is not None and before.epoch == marker.epoch and marker.pid in raising
            if before is not None and same and before.control != marker.control:
                what = f"{part}@{before.off} is {before.control}, and {part}@{marker.off} {marker.control} in its epoch"
                yield anomaly("opposite-marker", what, [before, *segment.records[:1], marker])
            newest[marker.pid] = marker


def reads_against_markers(facts: Facts) -> Iterator[Anomaly]:
    """A `read_committed` reader shows a record without a commit behind it, or hides one with a commit."""
    for part in facts.dumped:
        for segment in facts.segments.get(part, ()):
            wrong = next((record for record in segment.records if record.visible != segment.committed), None)
            if wrong is not None:
                end = "open" if segment.marker is None else f"ended by {segment.marker.control}"
                seen = "visible" if wrong.visible else "hidden"
                what = f"{wrong.val!r} at {part}@{wrong.off} is {seen}, and its transaction is {end}"
                yield anomaly("read-against-marker", what, [*facts.story_of(wrong.val), wrong, segment.marker])


def wrong_stable_offsets(facts: Facts) -> Iterator[Anomaly]:
    """The last stable offset is not the first offset of an open transaction, or the high watermark if there is none."""
    for partition in facts.of("partition"):
        open_ = (each.records[0] for each in facts.segments.get(partition.part, ()) if each.marker is None)
        first = min(open_, key=lambda record: record.off, default=None)
        due = partition.seq if first is None else first.off
        if NONE not in (partition.off, partition.seq) and partition.off != due:
            what = f"the last stable offset of {partition.part} is {partition.off}, where {due} was due"
            yield anomaly("stable-offset-fault", what, [first, partition])


def shared_epochs(facts: Facts) -> Iterator[Anomaly]:
    """Two producers have written with one producer id and epoch: none of them is fenced."""
    first: dict[tuple[int, int], tuple[object, Operation]] = {}
    for entries in facts.log.values():
        for entry in entries:
            writer = facts.writer_of.get(entry.val) if entry.op == "log" and entry.pid != NONE else None
            if writer is None:
                continue
            send = facts.transactions[writer].sends[0]
            producer = send.tid, send.proc if send.gen == NONE else send.gen
            known, before = first.setdefault((entry.pid, entry.epoch), (producer, entry))
            if known != producer:
                what = f"epoch {entry.epoch} of producer {entry.pid} has records of two producers"
                yield anomaly("shared-epoch", what, [facts.send_of(before.val), before, send, entry])


CHECKS = (
    Check(("marker-fault",), ("send", "marker"), wrong_markers),
    Check(("opposite-marker",), ("marker",), opposite_markers),
    Check(("read-against-marker",), ("marker", "partition"), reads_against_markers),
    Check(("stable-offset-fault",), ("marker", "partition"), wrong_stable_offsets),
    Check(("shared-epoch",), ("send", "log.epoch"), shared_epochs),
)
