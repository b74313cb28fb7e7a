"""Read off a test, and its harnesses, what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from typing import Any

import pytest

from eosfw.config.connector import BOUNDARY
from eosfw.config.secrets import secret_values
from eosfw.connectors import SourceConnector
from eosfw.observe import TaskStep
from eosfw.runtime import connector_config
from pytest_eos.certificate.evidence import (
    FAILED,
    FAULT,
    FENCED,
    HAPPENED,
    KILL,
    KILLED,
    PASSED,
    SKIPPED,
    STOPPED,
    ZOMBIE,
    Attempt,
    Evidence,
    Picture,
    Promise,
)
from pytest_eos.certificate.redaction import Redaction
from pytest_eos.contracts import Source
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics import broken_promise
from pytest_eos.harness import EosHarness
from pytest_eos.simulation.plugin import COVERAGE

_RANKS = {FENCED: 200, KILLED: 100}
_STEPS = [step.value for step in TaskStep]
_LONGEST = 6_000
"""Characters of a witness: the rest of a long trace helps nobody who reads the page."""


def read_evidence(
    item: pytest.Item, report: pytest.TestReport, harnesses: Iterable[EosHarness], redaction: Redaction
) -> Evidence:
    """The evidence of a test whose harnesses are still open."""
    harnesses = list(harnesses)
    runs = list(_runs(item, harnesses))
    for kind, properties in runs:
        redaction.add(secret_values(properties, kind.config))
    outcome = _outcome(report)
    first = harnesses[0] if harnesses else None
    simulated = item.stash.get(COVERAGE, None)
    return Evidence(
        test=redaction.text(item.nodeid),
        sentence=broken_promise.sentence(item),
        contract=broken_promise.contract_of(item),
        outcome=outcome,
        seconds=round(report.duration, 3),
        reason=redaction.text(_reason(report, outcome)),
        promises=_promises(runs, redaction),
        attempts=tuple(attempt for eos in harnesses for attempt in _attempts(eos)),
        # Each seed is compared, but only the last one's harness is still there.
        comparisons=sum(eos.comparisons for eos in harnesses) if simulated is None else simulated.seeds,
        backend="" if first is None else first.backend_name,
        cluster="" if first is None else "a running cluster" if first.cluster.local is None else "the embedded broker",
        clock="" if first is None else "virtual" if first.cluster.virtual else "real",
        rights=_has_rights(item),
        spark=_spark_version() if "eos_spark" in getattr(item, "fixturenames", ()) else "",
        simulation=simulated.as_json() if simulated is not None and simulated.seeds else None,
    )


def read_picture(evidence: Evidence, eos: EosHarness, redaction: Redaction, title: str, worst: int) -> Picture | None:
    """The timeline of a test that tried something or failed, if it is worse than the worst one so far."""
    rank = _rank(evidence)
    if rank <= worst or not eos.history.events():
        return None
    return Picture(redaction.text(eos.picture(title)), redaction.text(eos.timeline()), rank)


def _rank(evidence: Evidence) -> int:
    """How bad a case is: by the number of attempts, then by what was refused, then by how late in a transaction."""
    if evidence.outcome == SKIPPED or not (evidence.attempts or evidence.outcome == FAILED):
        return -1
    late = [_STEPS.index(one.at) for one in evidence.attempts if one.at in _STEPS]
    refused = sum(_RANKS.get(one.end, 0) for one in evidence.attempts)
    return 1000 * len(evidence.attempts) + refused + max(late, default=0)


# --- its outcome


def _outcome(report: pytest.TestReport) -> str:
    if report.passed:
        return PASSED
    # A promise that is expected to be broken does not hold.
    return SKIPPED if report.skipped and not hasattr(report, "wasxfail") else FAILED


def _reason(report: pytest.TestReport, outcome: str) -> str:
    if outcome == PASSED:
        return ""
    if outcome == SKIPPED:
        told = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        return str(told).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(report.longreprtext if crash is None else crash.message).strip()
    # Behind a message of its own, pytest tells what it makes of the expression.
    text = text.partition("\nassert ")[0]
    expected = f"it is expected to fail: {report.wasxfail}" if hasattr(report, "wasxfail") else ""
    return (expected + text.removeprefix("AssertionError: ").removeprefix("Failed: "))[:_LONGEST]


# --- what was promised


def _runs(item: pytest.Item, harnesses: Iterable[EosHarness]) -> Iterator[tuple[SourceConnector, Mapping[str, str]]]:
    """The connectors of a test, with their properties; without those that cannot be made, whose tests fail."""
    source = getattr(item, "funcargs", {}).get("source")
    if isinstance(source, Source):
        with suppress(Exception):
            yield source.connector(), source.texts
    for eos in harnesses:
        for group in eos.groups:
            for properties in group.connectors.values():
                with suppress(Exception):
                    yield eos.plugins.connector(properties["connector.class"]), properties


def _promises(runs: Iterable[tuple[SourceConnector, Mapping[str, str]]], redaction: Redaction) -> tuple[Promise, ...]:
    found = (Promise(**redaction.values(_promise(kind, properties))) for kind, properties in runs)
    return tuple({one.connector: one for one in found}.values())


def _promise(connector: SourceConnector, properties: Mapping[str, str]) -> dict[str, str]:
    kind = type(connector)
    name, version = _distribution(kind)
    return {
        "name": connector.name,
        "connector": f"{kind.__module__}:{kind.__qualname__}",
        "version": str(connector.version or version),
        "distribution": name,
        **_answers(connector, properties),
    }


def _answers(connector: SourceConnector, properties: Mapping[str, str]) -> dict[str, str]:
    try:
        config = connector_config(connector, "certificate", properties)
        boundary = str(config[BOUNDARY])
        answers: tuple[Any, Any] = (
            connector.exactly_once_support(config),
            connector.transaction_boundaries(config),
        )
    except Exception as error:  # noqa: BLE001 - a connector's own code; its tests say what is wrong with it
        return {"support": f"it cannot be asked: {type(error).__name__}", "boundary": "", "boundaries": ""}
    support, boundaries = ("unknown" if one is None else str(getattr(one, "value", one)) for one in answers)
    return {"support": support, "boundary": boundary, "boundaries": boundaries}


def _distribution(kind: type[SourceConnector]) -> tuple[str, str]:
    """Name and version of the distribution that a connector is from; empty for one that none has."""
    for one in installed_plugins().registered():
        if one.role == "connector" and one.offers(kind):
            return one.source.distribution, one.source.version
    owners = _packages().get(kind.__module__.partition(".")[0], ())
    return (owners[0], metadata.version(owners[0])) if owners else ("", "")


@cache
def _packages() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _has_rights(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("eos_cluster")
    return marker is not None and marker.kwargs.get("rights") is not None


def _spark_version() -> str:
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return ""


# --- what was tried


def _attempts(eos: EosHarness) -> Iterator[Attempt]:
    for zombie in eos.zombies.made:
        if zombie.rose and zombie.freeze is not None:
            end = KILLED if zombie.killed else FENCED if zombie.fenced else STOPPED
            event = zombie.freeze.event
            kind = KILL if zombie.killed else ZOMBIE
            yield Attempt(kind, "task", event.step.value, end, connector=_class_of(eos, event.connector))
    for process in eos.zombies.processes:
        if process.rose:
            end = KILLED if process.killed else FENCED if process.fenced else STOPPED
            kind = KILL if process.killed else ZOMBIE
            yield Attempt(kind, "worker process", process.step, end, connector=process.connector)
    for one in eos.zombies.of_groups:
        if one.rose:
            freeze = getattr(one, "freeze", None)
            who, at = ("worker", "") if freeze is None else ("leader", freeze.event.step.value)
            yield Attempt(ZOMBIE, who, at, FENCED if one.fenced else STOPPED)
    yield from _attempts_of_queries(eos)
    yield from _kills_of_workers(eos)
    for fault in eos.faults.made:
        if fault.fired:
            what = str(fault).partition(":")[0].removeprefix("fault ")
            yield Attempt(FAULT, "broker", what, HAPPENED, len(fault.firings))


def _class_of(eos: EosHarness, connector: str) -> str:
    """`module:Class` of a connector, by its name in a worker group."""
    for group in eos.groups:
        if connector in group.connectors:
            kind = type(eos.plugins.connector(group.connectors[connector]["connector.class"]))
            return f"{kind.__module__}:{kind.__qualname__}"
    return ""


def _attempts_of_queries(eos: EosHarness) -> Iterator[Attempt]:
    for driver in eos.queries.drivers:
        spec = driver.zombie
        if spec is not None and driver.rose:
            end = KILLED if driver.killed else FENCED if driver.fenced else STOPPED
            yield Attempt(KILL if driver.killed else ZOMBIE, spec.who or "driver", spec.step.value, end)


def _kills_of_workers(eos: EosHarness) -> Iterator[Attempt]:
    """Kills of workers in this process whose tasks were not frozen before."""
    frozen = sum(zombie.killed for zombie in eos.zombies.made)
    kills = sum(group.kills for group in eos.groups)
    if kills > frozen:
        yield Attempt(KILL, "worker", "", KILLED, kills - frozen)
