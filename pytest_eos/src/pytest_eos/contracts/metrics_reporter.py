"""The contract of a metrics reporter: it takes every value, again and again, and holds nothing up."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from eosfw.config.parts import PartChoice
from eosfw.observe import Metric
from eosfw.protocols import MetricsContext, MetricsReporter
from pytest_eos.contracts.process_resources import refuse_leftovers

_CONTEXT = MetricsContext({"connect.group.id": "contract", "connect.kafka.cluster.id": "cluster", "site": "Oslo"})


def _metrics(of: float) -> list[Metric]:
    """Metrics of every shape: of a task, of the worker, of a plugin; with text that a format may have to quote."""
    task = {"connector": 'with "quotes"\n', "task": "0"}
    return [
        Metric("source-task-metrics", "source-record-write-total", of, task, "records"),
        Metric("connect-worker-metrics", "task-count", 2, {}, "tasks"),
        Metric("plugins", "rows-held", 0.25, {**task, "plugin": "transforms.mask", "größe": "µ"}, 'what it "holds"'),
        Metric(
            "connect-worker-rebalance-metrics",
            "time-since-last-rebalance-ms",
            math.inf,
            {},
            "infinite before the first",
        ),
    ]


@dataclass(frozen=True, slots=True)
class ReportedMetrics:
    """A reporter, and how to see what has arrived."""

    reporter: type[MetricsReporter]
    """A class that is offered by `eosfw_metrics_reporters`."""
    values: Callable[[], Mapping[str, float | None]]
    """The values of the last report by the names of metrics, or what became of these names; may wait for them."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What a worker would write as `metric.reporters.NAME.*`."""


class MetricsReporterContract:
    """Inherit, and define the fixture `reported`, which returns `ReportedMetrics`."""

    @pytest.fixture
    def reported(self) -> ReportedMetrics:
        """The reporter under test, and what it has reported."""
        raise NotImplementedError("define the fixture reported")

    @pytest.fixture
    def metrics_reporter(self, reported: ReportedMetrics) -> Iterator[MetricsReporter]:
        """A reporter that was made and configured as a worker does it, and started."""
        reporter = _made(reported)
        reporter.start(_CONTEXT)
        yield reporter
        reporter.close()

    def test_a_reporter_names_itself(self, metrics_reporter: MetricsReporter) -> None:
        """PLG-11: it is chosen by its name, in `metric.reporters`."""
        assert isinstance(metrics_reporter, MetricsReporter)
        assert metrics_reporter.name

    def test_the_newest_values_arrive(self, metrics_reporter: MetricsReporter, reported: ReportedMetrics) -> None:
        """PLG-11: a report has all values as of now, those of the one before count no more."""
        for value in (7, 8):
            metrics_reporter.report(_metrics(value))
            found = list(reported.values().values())
            assert value in found, f"the value {value} of source-record-write-total did not arrive: {found}"
            assert 0.25 in found, f"the value 0.25 of a plugin's gauge did not arrive: {found}"

    def test_nothing_and_odd_values_can_be_reported(self, metrics_reporter: MetricsReporter) -> None:
        """PLG-11: a worker may have measured nothing yet; some values are infinite before the first event."""
        metrics_reporter.report([])
        metrics_reporter.report([Metric("g", "n", value) for value in (math.inf, -math.inf, math.nan, 1e300, True, 0)])

    def test_metrics_that_go_away_are_no_error(
        self, metrics_reporter: MetricsReporter, reported: ReportedMetrics
    ) -> None:
        """PLG-11: tasks end, and others begin, between two reports."""
        metrics_reporter.report(_metrics(7))
        metrics_reporter.report(_metrics(9)[:1])
        assert 9 in reported.values().values()

    def test_a_report_changes_no_metric(self, metrics_reporter: MetricsReporter) -> None:
        """PLG-11: other reporters are given the same."""
        given = _metrics(7)
        before = deepcopy(given)

        metrics_reporter.report(given)

        assert given == before, "it changed what it was given"

    def test_a_reporter_may_be_closed_repeatedly(self, metrics_reporter: MetricsReporter) -> None:
        """PLG-11: also before its first report."""
        metrics_reporter.close()
        metrics_reporter.close()

    def test_a_closed_reporter_leaves_nothing_behind(
        self, reported: ReportedMetrics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PLG-11: a process may run one worker after the other."""
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        monkeypatch.setenv("TMPDIR", str(temporary))

        def use() -> None:
            reporter = _made(reported)
            reporter.start(_CONTEXT)
            reporter.report(_metrics(7))
            reporter.close()

        refuse_leftovers("a closed reporter", temporary, use)


def _made(reported: ReportedMetrics) -> MetricsReporter:
    choice = PartChoice("metric.reporters.contract", reported.reporter.name, reported.properties)
    return choice.configured(reported.reporter())
