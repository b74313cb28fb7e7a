"""The part of the pytest plugin that writes a certificate; registered only if one is asked for."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_eos.certificate.certificate import Certificate, certificate
from pytest_eos.certificate.collection import read_evidence, read_picture
from pytest_eos.certificate.evidence import FAILED, Evidence, RunOutcome
from pytest_eos.certificate.files import write
from pytest_eos.certificate.redaction import Redaction
from pytest_eos.environment.config.session_statistics import HARNESSES

_KEY = "eos_evidence"
_DESELECTED = "eos_deselected"
_OPEN = "the run has not come to its end"
_ENDS = {
    pytest.ExitCode.INTERRUPTED: "the run was interrupted",
    pytest.ExitCode.INTERNAL_ERROR: "pytest ended with an internal error",
    pytest.ExitCode.USAGE_ERROR: "pytest was called in a wrong way",
    pytest.ExitCode.NO_TESTS_COLLECTED: "no test was found",
}


class EvidenceRecorder:
    """Reads the evidence off each test, in the process that runs it, and sends it with the test's report."""

    def __init__(self) -> None:
        self.redaction = Redaction()
        self.deselected = 0
        self._worst: dict[str, int] = {}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count what is left out by `-k`, `-m` or another plugin."""
        self.deselected += len(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Attach the evidence to the report of the call, or of what failed or was skipped around it."""
        report: pytest.TestReport = yield
        if report.when == "call" or not report.passed:
            setattr(report, _KEY, asdict(self._evidence(item, report)))
        return report

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the number of deselected tests to the controller of pytest-xdist."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_DESELECTED] = self.deselected

    def _evidence(self, item: pytest.Item, report: pytest.TestReport) -> Evidence:
        harnesses = item.stash.get(HARNESSES, []) if report.when == "call" else []
        evidence = read_evidence(item, report, harnesses, self.redaction)
        for eos in harnesses:
            for one in evidence.promises[:1]:
                title = f"{one.name}: {evidence.sentence}"
                worst = -1 if evidence.outcome == FAILED else self._worst.get(one.connector, -1)
                picture = read_picture(evidence, eos, self.redaction, title, worst)
                if picture is not None:
                    evidence = replace(evidence, picture=picture)
                    if evidence.outcome != FAILED:
                        self._worst[one.connector] = picture.rank
        return evidence


class CertificateWriter:
    """Gathers the evidence of all tests, and writes the page, in the one process that ends last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcome = RunOutcome(unfinished=_OPEN)
        self._evidence: dict[str, Evidence] = {}
        self._deselected_by_workers = 0
        self._interrupted = False
        self.certificate: Certificate | None = None

    def pytest_sessionstart(self) -> None:
        """Replace an earlier page: if this process dies, what is left says so."""
        self._write()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what cannot be imported."""
        if report.failed:
            self._outcome.errors.append((report.nodeid, _first_lines(report.longreprtext)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the evidence of a test; a failure around it is a failure of it."""
        given = getattr(report, _KEY, None)
        if given is None:
            if report.failed:  # a crashed worker of pytest-xdist
                self._outcome.errors.append((report.nodeid, _first_lines(report.longreprtext)))
            return
        found = Evidence.from_dict(given)
        before = self._evidence.get(found.test)
        self._evidence[found.test] = found if before is None else _joined(before, found)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn how many tests a worker of pytest-xdist has deselected: all of them the same ones."""
        output = getattr(node, "workeroutput", None) or {}
        self._deselected_by_workers = max(self._deselected_by_workers, output.get(_DESELECTED, 0))

    def pytest_keyboard_interrupt(self) -> None:
        """Note that the run ends here; `pytest.exit`, which comes here as well, may give any exit status."""
        self._interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the page."""
        recorder = session.config.pluginmanager.get_plugin(EvidenceRecorder.__name__)
        own = recorder.deselected if isinstance(recorder, EvidenceRecorder) else 0
        self._outcome.deselected = max(own, self._deselected_by_workers)
        self._outcome.unfinished = _end(pytest.ExitCode.INTERRUPTED if self._interrupted else exitstatus)
        if exitstatus == pytest.ExitCode.TESTS_FAILED and not self._failed():
            self._outcome.errors.append(("pytest", "it says that a test failed, though none did"))
        if session.shouldstop and not self._outcome.unfinished:
            self._outcome.unfinished = str(session.shouldstop)
        self.certificate = self._write()

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the page is, and what it says."""
        if self.certificate is not None:
            said = f"{self.certificate.verdict}: {self.certificate.headline}"
            terminalreporter.write_line(f"certificate: {said}: {self._path}")

    def _failed(self) -> bool:
        return bool(self._outcome.errors) or any(one.outcome == FAILED for one in self._evidence.values())

    def _write(self) -> Certificate:
        self._outcome.evidence = list(self._evidence.values())
        made = certificate(self._outcome)
        write(made, self._path)
        return made


def _joined(before: Evidence, after: Evidence) -> Evidence:
    """The evidence of a test with what its teardown, or a repetition of it, adds: a failure stays one."""
    if before.outcome == FAILED or after.outcome != FAILED:
        return before
    return replace(before, outcome=FAILED, reason=after.reason)


def _end(exitstatus: int) -> str:
    """Why a run with this exit status did not come to its end; empty if it did."""
    try:
        return _ENDS.get(pytest.ExitCode(exitstatus), "")
    except ValueError:  # of a plugin
        return _OPEN


def _first_lines(text: str) -> str:
    return Redaction().text("\n".join(text.strip().splitlines()[-12:]))


def register(config: pytest.Config, path: Path) -> None:
    """Record evidence in this process, and write the page if it is the one that ends last."""
    config.pluginmanager.register(EvidenceRecorder(), EvidenceRecorder.__name__)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CertificateWriter(path), CertificateWriter.__name__)
