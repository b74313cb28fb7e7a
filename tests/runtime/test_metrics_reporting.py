"""Plugins of a task are measured, and reporters are given all values."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from eosfw.config import Config, ConfigDef, String
from eosfw.connectors import PollResult
from eosfw.errors import ClusterUnavailableError, ConfigError
from eosfw.observe import Metric
from eosfw.plugin_metrics import PluginMetrics
from eosfw.protocols import MetricsContext

from .counting import CountingConnector, CountingTask
from .fake_cluster import FakeAdmin
from .hosting_harness import HostedHarness
from .watching_connector import ChangingSource, watching
from .worker_harness import PATIENCE, WorkerHarness


class Reporter:
    """Puts what it is given into a queue."""

    name: ClassVar[str] = "queued"
    config: ClassVar[ConfigDef] = ConfigDef(String("where", "here"))
    calls: ClassVar[queue.SimpleQueue[Any]] = queue.SimpleQueue()
    fails: ClassVar[set[str]] = set()

    def configure(self, config: Config) -> None:
        self.where = config["where"]

    def start(self, context: MetricsContext) -> None:
        self.called("start", (self.where, dict(context.labels)))

    def report(self, metrics: Sequence[Metric]) -> None:
        self.called("report", {(one.name, *one.labels.values()): one.value for one in metrics})

    def close(self) -> None:
        self.called("close", None)

    def called(self, what: str, value: object) -> None:
        self.calls.put((what, value))
        if what in self.fails:
            raise ConnectionError("no answer")


class Blocked(Reporter):
    """Never comes back from its first report."""

    name = "blocked"
    released = threading.Event()

    def report(self, metrics: Sequence[Metric]) -> None:
        self.released.wait()


class MeasuredTask(CountingTask):
    def start(self, config: Config, context: Any) -> None:
        super().start(config, context)
        self.polls = context.metrics.counter("polls", "calls")
        self.stops = context.metrics.counter("stops", "calls")

    def poll(self) -> PollResult:
        self.polls.add()
        return super().poll()

    def stop(self) -> None:
        self.stops.add()
        super().stop()


class MeasuredConnector(CountingConnector):
    task = MeasuredTask


class Measured:
    """A transformation and a converter that count."""

    name = "measured"
    config = ConfigDef()

    def configure(self, config: Config) -> None:
        pass

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        self.seen = metrics.counter("seen")

    def apply(self, record: Any) -> Any:
        self.seen.add()
        return record

    def from_connect_data(self, topic: str, schema: Any, value: Any) -> Any:
        self.seen.add()
        return value


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Reporter.calls = queue.SimpleQueue()
    Reporter.fails = set()


def worker(**more: str) -> dict[str, str]:
    return {"metric_reporters": "queued", "metrics_report_interval_ms": "5", **more}


def stage(connector: Any = None, **more: str) -> WorkerHarness:
    return WorkerHarness(connector, parts=(Reporter, Blocked, Measured), **worker(**more))


def until(what: str, such: Callable[[Any], bool] | None = None) -> Any:
    """The value of the next call of that name that is as wanted."""
    deadline, newest = time.monotonic() + PATIENCE, None
    while time.monotonic() < deadline:
        name, newest = Reporter.calls.get(timeout=PATIENCE)
        if name == what and (such is None or such(newest)):
            return newest
    raise AssertionError(f"no call of {what} as wanted; the newest was {newest}")


def test_a_reporter_is_given_labels_and_properties_of_its_own() -> None:
    """PLG-10: the labels of KIP-606 and `metrics.context.*`; `metric.reporters.NAME.*` are for one reporter."""
    with stage(**{"metric.reporters.queued.where": "there", "metrics.context.site": "Oslo"}):
        where, labels = until("start")
    assert where == "there"
    assert labels == {
        "connect.group.id": "g",
        "connect.kafka.cluster.id": labels["connect.kafka.cluster.id"],
        "site": "Oslo",
    }
    assert until("close") is None


def test_values_are_reported_again_and_again_and_once_more_at_the_end() -> None:
    """PLG-10: so a run that ends soon is reported as a whole, with what its plugins have counted."""
    with stage(MeasuredConnector()) as running:
        running.put("c", until="5")
        polls = until("report", lambda values: values.get(("polls-total", "c", "0", "task"), 0) > 0)
        assert ("status", "c", "0", "running") in polls
        running.until_drained()
    last: Mapping[Any, float] = {}
    while (call := Reporter.calls.get(timeout=30))[0] != "close":
        last = call[1]
    assert last["source-record-write-total", "c", "0"] == 5
    assert last["polls-total", "c", "0", "task"] >= 5


def test_the_plugins_of_a_task_in_another_process_are_measured_as_well() -> None:
    """PLG-32: by the worker that hosts it; at the end by what its process said last. So is the task itself."""
    with HostedHarness(MeasuredConnector(), parts=(Reporter,), **worker()) as running:
        running.put("c", until="5")
        until("report", lambda values: values.get(("polls-total", "c", "0", "task"), 0) > 0)
        running.until_drained()
    last: Mapping[Any, float] = {}
    while (call := Reporter.calls.get(timeout=30))[0] != "close":
        last = call[1]
    assert last["polls-total", "c", "0", "task"] >= 5
    assert last["stops-total", "c", "0", "task"] == 1
    assert last["source-record-write-total", "c", "0"] == 5


def test_a_transformation_is_measured_by_the_property_that_chose_it() -> None:
    """PLG-08: two of one class are told apart."""
    chosen = {f"transforms_{one}_type": "measured" for one in "ab"}
    with stage() as running:
        running.put("c", until="3", transforms="a,b", value_converter="measured", **chosen)
        last = until("report", lambda values: values.get(("seen-total", "c", "0", "value.converter"), 0) == 3)
        running.until_drained()
    assert last["seen-total", "c", "0", "transforms.a"] == last["seen-total", "c", "0", "transforms.b"] == 3


def test_a_connector_that_watches_its_source_is_measured() -> None:
    """PLG-08: by the metrics of its context."""
    source = ChangingSource()
    with stage(watching(source)) as running:
        running.put("c", until="3")
        running.until(lambda: source.context is not None, "the start")
        source.context.metrics.gauge("streams", read=lambda: source.streams)
        values = until("report", lambda values: ("streams", "c", "", "connector") in values)
        running.until_drained()
    assert values["streams", "c", "", "connector"] == source.streams


@pytest.mark.parametrize("what", ["start", "report", "close"])
def test_a_reporter_that_fails_stops_nothing(what: str, caplog: pytest.LogCaptureFixture) -> None:
    """PLG-10: it is named in the log; one that does not start gets no report."""
    Reporter.fails = {what} - {"close"}  # a validation closes what it has made
    with caplog.at_level(logging.WARNING), stage() as running:
        Reporter.fails = {what}
        running.put("c", until="3")
        running.until_drained()
        if what == "report":
            until("report")
            until("report")
    until("close")
    assert "metrics reporter 'queued'" in caplog.text
    assert "ConnectionError: no answer" in caplog.text


def test_a_reporter_starts_once_the_cluster_tells_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """PLG-10: that the cluster cannot be asked for a moment is no fault of the reporter."""
    answers: list[Exception] = [ClusterUnavailableError("no answer")]

    def cluster_id(_: FakeAdmin) -> str:
        if answers:
            raise answers.pop()
        return "c1"

    monkeypatch.setattr(FakeAdmin, "cluster_id", cluster_id)
    with stage() as running:
        running.put("c", until="3")
        assert until("start")[1]["connect.kafka.cluster.id"] == "c1"
        until("report")


def test_a_reporter_that_blocks_holds_up_no_other() -> None:
    """PLG-10: each has a thread of its own, and the end of the worker waits for none for ever."""
    Blocked.released.clear()
    try:
        with stage(metric_reporters="blocked,queued") as running:
            running.put("c", until="3")
            until("report", lambda values: values.get(("source-record-write-total", "c", "0")) == 3)
            assert not Blocked.released.is_set()
            Blocked.released.set()
        assert until("close") is None
    finally:
        Blocked.released.set()


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"metric_reporters": "nobody"}, "no metrics reporter 'nobody'"),
        ({"metric.reporters.queued.were": "x"}, "unknown configuration 'metric.reporters.queued.were'; did you mean"),
    ],
)
def test_a_reporter_that_cannot_be_is_refused_before_the_worker_starts(properties: dict[str, str], why: str) -> None:
    """PLG-10: as every other part that a property chooses."""
    with pytest.raises(ConfigError, match=why), stage(**properties):
        pass


def test_properties_for_a_reporter_that_is_not_chosen_are_refused() -> None:
    """PLG-10: a property without effect is worse than none."""
    with pytest.raises(ConfigError, match=r"other.path is for a reporter that metric.reporters does not"):
        stage(**{"metric.reporters.other.path": "x"})
