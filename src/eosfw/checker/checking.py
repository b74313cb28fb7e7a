"""Check a history: the anomalies that it shows, and what it cannot show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from eosfw.checker import (
    boundary_checks,
    connector_checks,
    coordinator_checks,
    durability_checks,
    group_offset_checks,
    leader_checks,
    log_checks,
    marker_checks,
    request_checks,
    spark_checks,
    task_checks,
    transaction_checks,
)
from eosfw.checker.anomaly import Anomaly, Check
from eosfw.checker.facts import Decision, Facts
from eosfw.checker.operation import Operation
from eosfw.garbage_collection import collection_paused

ALL_CHECKS: Final[Sequence[Check]] = (
    *transaction_checks.CHECKS,
    *durability_checks.CHECKS,
    *log_checks.CHECKS,
    *marker_checks.CHECKS,
    *connector_checks.CHECKS,
    *leader_checks.CHECKS,
    *task_checks.CHECKS,
    *boundary_checks.CHECKS,
    *coordinator_checks.CHECKS,
    *group_offset_checks.CHECKS,
    *request_checks.CHECKS,
    *spark_checks.CHECKS,
)


class Judgement(Enum):
    """What a history shows."""

    GOOD = "good"
    ANOMALIES = "anomalies"
    NOTHING_SHOWN = "nothing shown"
    """It has no anomaly, and cannot show that there was none: it is cut off, say, or lacks a fault that was asked."""


@dataclass(frozen=True, slots=True)
class CheckedHistory:
    """What came of a check."""

    anomalies: tuple[Anomaly, ...]
    gaps: tuple[str, ...]
    """Why the history shows nothing where it has no anomaly, a sentence each."""
    not_looked_for: tuple[str, ...]
    """Names of anomalies that cannot be found, since the history lacks the operations by which they are seen."""
    committed: int
    """How many transactions were committed."""
    records: int
    """How many records a `read_committed` reader finds at the end."""

    @property
    def judgement(self) -> Judgement:
        if self.anomalies:
            return Judgement.ANOMALIES
        return Judgement.NOTHING_SHOWN if self.gaps else Judgement.GOOD


def check_history(history: Iterable[Operation], faults: Collection[str] = ()) -> CheckedHistory:
    """Look for every anomaly; `faults` are names of faults that have to be in the history for it to show anything."""
    with collection_paused():
        return _checked(Facts(history), faults)


def _checked(facts: Facts, faults: Collection[str]) -> CheckedHistory:
    looked_for = [check for check in ALL_CHECKS if all(map(facts.has, check.needs))]
    names = {name for check in looked_for for name in check.names}
    committed = sum(facts.outcome(each) is Decision.COMMITTED for each in facts.transactions.values())
    return CheckedHistory(
        anomalies=tuple(found for check in looked_for for found in check.run(facts)),
        gaps=tuple(_gaps(facts, committed, faults)),
        not_looked_for=tuple(dict.fromkeys(name for check in ALL_CHECKS for name in check.names if name not in names)),
        committed=committed,
        records=sum(1 for entries in facts.log.values() for entry in entries if entry.visible),
    )


def _gaps(facts: Facts, committed: int, faults: Collection[str]) -> Iterable[str]:
    if not facts.of("end"):
        yield "the history is cut off: it has no last line 'end'"
    if not facts.of("partition"):
        yield "no log was read to its end: no line 'partition'"
    if not committed:
        yield "no transaction was committed"
    if nameless := spark_checks.rows_of_no_batch(facts):
        yield nameless
    fired = {fault.val for fault in facts.of("fault")}
    for name in sorted(set(faults) - fired):
        yield f"the fault {name!r} was asked for, and did not happen"
