"""What the tests of a run have shown together: the verdict, and everything that the page and the JSON say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from eosfw.text import quantity
from pytest_eos.certificate.evidence import (
    FAILED,
    FAULT,
    KILL,
    PASSED,
    SKIPPED,
    ZOMBIE,
    Attempt,
    Evidence,
    Picture,
    Promise,
    RunOutcome,
)
from pytest_eos.certificate.not_tried import not_tried, skipped
from pytest_eos.certificate.simulated import ends_or_stops_workers, happened, simulated
from pytest_eos.certificate.steps import ENDS, ORDER, WORDS
from pytest_eos.certificate.versions import versions

HELD: Final = "held"
BROKEN: Final = "failed"
NOTHING: Final = "nothing shown"
KINDS: Final = (ZOMBIE, KILL, FAULT)
FORMAT: Final = 1
"""The version of the JSON's shape."""
_WITNESSES = 10
"""Failed tests that are shown whole; more of them hardly say anything new."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The verdict, and the data of the page."""

    verdict: str
    headline: str
    data: dict[str, Any]


def certificate(outcome: RunOutcome) -> Certificate:
    """The certificate of a run."""
    connectors = [_connector(promises, outcome.evidence) for promises in _by_connector(outcome.evidence)]
    verdict, why = _verdict(outcome, connectors)
    headline = _headline(verdict, connectors)
    data = {
        "format": FORMAT,
        "verdict": verdict,
        "headline": headline,
        "why": why,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "connectors": connectors,
        "witness": list(_witnesses(outcome)),
        "not_tried": skipped(outcome),
        "versions": versions(outcome.evidence),
        "tests": [_test(one) for one in outcome.evidence],
    }
    return Certificate(verdict, headline, data)


# --- the verdict


def _verdict(outcome: RunOutcome, connectors: Sequence[dict[str, Any]]) -> tuple[str, str]:
    failed = [one for one in outcome.evidence if one.outcome == FAILED]
    if failed or outcome.errors:
        return BROKEN, f"{quantity(len(failed) + len(outcome.errors), 'failure')}: see the witness."
    if outcome.unfinished:
        return NOTHING, f"Nothing can be said: {outcome.unfinished}."
    if not connectors:
        return NOTHING, "No test ran a connector."
    if lacking := [one for one in connectors if one["verdict"] != HELD]:
        return NOTHING, " ".join(f"{one['name']}: {one['why']}" for one in lacking)
    return HELD, "Every record of the source became visible once, in its transaction, whatever was tried."


def _headline(verdict: str, connectors: Sequence[dict[str, Any]]) -> str:
    names = ", ".join(one["name"] for one in connectors) or "the tests"
    if verdict == HELD:
        tried = sum(attempt["times"] for one in connectors for attempt in one["attempts"])
        attempts = [f"{quantity(tried, 'attempt')} to break it"] if tried else []
        attempts += [happened(one["simulation"]) for one in connectors if one["simulation"]]
        return f"{names} held against {', and '.join(attempts)}"
    return f"{names} failed" if verdict == BROKEN else f"nothing is shown of {names}"


def _verdict_of_connector(promise: Promise, tests: Sequence[Evidence]) -> tuple[str, str]:
    """The verdict of one connector, and why."""
    if any(one.outcome == FAILED for one in tests):
        return BROKEN, "a test of it failed."
    if promise.support != "supported":
        return NOTHING, f"it does not say that it is exactly once (`exactly_once_support`: {promise.support})."
    tried = [one for one in tests if _is_tried(promise.connector, one)]
    if not tried:
        return NOTHING, "no zombie was raised and nothing was killed, so nothing was tried that could break it."
    if not any(one.comparisons for one in tried):
        return NOTHING, "its zombies were raised, but no test compared the records with those of the source."
    return HELD, f"{quantity(sum(one.comparisons for one in tests), 'run')} compared with the source, record by record."


def _is_tried(connector: str, one: Evidence) -> bool:
    """Whether a test has made a zombie of a connector's task, or ended one."""
    return any(attempt.kind != FAULT for attempt in _of(connector, one)) or ends_or_stops_workers(one.simulation)


# --- connectors


def _by_connector(evidence: Iterable[Evidence]) -> list[list[Promise]]:
    """The promises of each connector: the same class may have run with several properties."""
    found: dict[str, dict[Promise, None]] = {}
    for one in evidence:
        for promise in one.promises:
            found.setdefault(promise.connector, {})[promise] = None
    return [list(promises) for promises in found.values()]


def _connector(promises: Sequence[Promise], evidence: Iterable[Evidence]) -> dict[str, Any]:
    first = promises[0]
    tests = [one for one in evidence if any(each.connector == first.connector for each in one.promises)]
    passed = [one for one in tests if one.outcome == PASSED]
    attempts = [attempt for one in passed for attempt in _of(first.connector, one)]
    verdict, why = _verdict_of_connector(first, tests)
    return {
        "name": first.name,
        "connector": first.connector,
        "version": first.version,
        "distribution": first.distribution,
        "promises": [
            {"exactly_once_support": one.support, "transaction_boundary": one.boundary, "boundaries": one.boundaries}
            for one in promises
        ],
        "verdict": verdict,
        "why": why,
        "tests": dict(Counter(one.outcome for one in tests)),
        "contracts": dict(Counter(one.contract for one in passed if one.contract)),
        "comparisons": sum(one.comparisons for one in passed),
        "comparisons_with_least_rights": sum(one.comparisons for one in passed if one.rights),
        "attempts": _counted(attempts),
        "simulation": simulated(tests),
        "worst_case": _worst_case(passed, first.connector),
        "not_tried": not_tried(tests, attempts),
    }


def _of(connector: str, one: Evidence) -> Iterator[Attempt]:
    """The attempts of a test that concern a connector."""
    return (attempt for attempt in one.attempts if attempt.connector in ("", connector))


def _counted(attempts: Iterable[Attempt]) -> list[dict[str, Any]]:
    """How often each was tried, by kind and in the order of steps."""
    times: Counter[tuple[str, str, str, str]] = Counter()
    for one in attempts:
        times[one.kind, one.who, one.at, one.end] += one.times
    known = {step: number for number, step in enumerate(ORDER)}
    ordered = sorted(times, key=lambda one: (KINDS.index(one[0]), one[1], known.get(one[2], len(known)), one))
    return [
        {
            "kind": kind,
            "who": who,
            "at": at,
            "at_in_words": WORDS.get(at, ""),
            "end": end,
            "end_in_words": ENDS[end],
            "times": times[kind, who, at, end],
        }
        for kind, who, at, end in ordered
    ]


def _worst_case(passed: Iterable[Evidence], connector: str) -> dict[str, str] | None:
    candidates = [
        (one.picture.rank, one.picture, one)
        for one in passed
        if one.picture is not None and one.promises[0].connector == connector
    ]
    if not candidates:
        return None
    _, picture, test = max(candidates, key=lambda one: one[0])
    return {"test": test.test, "sentence": test.sentence, **_drawn(picture)}


def _drawn(picture: Picture | None) -> dict[str, str]:
    return {} if picture is None else {"svg": picture.svg, "timeline": picture.text}


# --- failures, tests


def _witnesses(outcome: RunOutcome) -> Iterator[dict[str, str]]:
    for where, why in outcome.errors:
        yield {"test": where, "sentence": "", "contract": "", "why": why}
    failed = [one for one in outcome.evidence if one.outcome == FAILED]
    for one in failed[:_WITNESSES]:
        found = {"test": one.test, "sentence": one.sentence, "contract": one.contract, "why": one.reason}
        yield {**found, **_drawn(one.picture)}
    if len(failed) > _WITNESSES:
        more = quantity(len(failed) - _WITNESSES, "test")
        yield {"test": "", "sentence": "", "contract": "", "why": f"{more} more failed; the list of tests names them."}


def _test(one: Evidence) -> dict[str, Any]:
    why = {"why": one.reason.partition("\n")[0]} if one.outcome in (FAILED, SKIPPED) else {}
    return {
        "test": one.test,
        "outcome": one.outcome,
        "seconds": one.seconds,
        "attempts": len(one.attempts),
        "clock": one.clock,
        **why,
    }
