"""What a run of tests did not try, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from eosfw.text import quantity
from pytest_eos.certificate.evidence import FAILED, FAULT, KILL, SKIPPED, ZOMBIE, Attempt, Evidence, RunOutcome
from pytest_eos.certificate.steps import OF_TASKS

AFTER_FAILURE = "a test before this one has failed"
_BY_MARKER = '@pytest.mark.eos_zombie(at="all") makes one at each step'
_KINDS = (
    (ZOMBIE, "task", "a zombie of a task", f"no test makes one there; {_BY_MARKER}"),
    (
        KILL,
        "task",
        "the end of a worker",
        "no test ends one there; the contract of source connectors does at each step",
    ),
    (
        KILL,
        "worker process",
        "SIGKILL of a worker's process",
        "no test kills one there; `zombies.process` or `eosfw certify` do",
    ),
)
"""Attempts at steps of a task: kind, who, in words, why they may be missing."""


def not_tried(tests: Sequence[Evidence], attempts: Sequence[Attempt]) -> list[dict[str, str]]:
    """What the tests of a connector did not try, each with the reason."""
    return [{"what": what, "why": why} for what, why in _not_tried(tests, attempts)]


def skipped(outcome: RunOutcome) -> list[dict[str, str]]:
    """The tests that were skipped or left out, each with the reason."""
    reasons = Counter((one.sentence, one.reason) for one in outcome.evidence if one.outcome == SKIPPED)
    found = [
        {"what": f"{sentence} ({quantity(times, 'test')})" if times > 1 else sentence, "why": why}
        for (sentence, why), times in reasons.items()
    ]
    if outcome.deselected:
        found.append({"what": quantity(outcome.deselected, "test"), "why": "deselected by the call of pytest"})
    return found


def _not_tried(tests: Sequence[Evidence], attempts: Sequence[Attempt]) -> Iterator[tuple[str, str]]:
    if any(one.outcome == FAILED for one in tests):
        yield "whatever the tests that did not pass would have tried", "see the witness"
        return
    if not any(one.contract for one in tests):
        yield "the contract", "no test inherits `SourceConnectorContract` of `pytest_eos.contracts`"
    for kind, who, words, why in _KINDS:
        at = {one.at for one in attempts if (one.kind, one.who) == (kind, who)}
        if missing := _missing(OF_TASKS, at):
            yield f"{words} {missing}", why
    if not any(one.kind == FAULT for one in attempts):
        yield "faults of the broker", "no test uses the fixture `faults`"
    if not any(one.who in ("leader", "worker") for one in attempts):
        yield "a group of several workers", "no test uses `eos.distributed`"
    if all(one.cluster != "a running cluster" for one in tests):
        yield (
            "a Kafka cluster",
            "all tests ran on the embedded broker; `pytest --eos-bootstrap-servers=HOST:PORT` chooses a cluster",
        )
    if not any(one.spark for one in tests):
        yield "what Spark reads", "no test of this connector has read its records with the fixture `eos_spark`"
    yield from _not_tried_by_markers(tests)


def _not_tried_by_markers(tests: Sequence[Evidence]) -> Iterator[tuple[str, str]]:
    if not any(one.simulation for one in tests):
        yield "simulated runs", "no test of this connector is marked `eos_simulation(seeds=...)`"
    if not any(one.rights and one.comparisons for one in tests):
        yield "least rights", "no test of this connector is marked `eos_cluster(rights=...)`"


def _missing(steps: Iterable[str], tried: Collection[str]) -> str:
    """The steps at which something was not tried, in words; empty if there are none."""
    missing = [step for step in steps if step not in tried]
    if not missing:
        return ""
    return f"at these steps: {', '.join(missing)}" if tried else "at any step"
