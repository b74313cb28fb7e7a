"""Spans of starts, transactions and fencing rounds."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult
from opentelemetry.trace import StatusCode
from tests.runtime.scripted_task import batch, record, scripted
from tests.runtime.worker_harness import WorkerHarness, connector_of

from eosfw.ids import ConnectorTaskId
from eosfw.observe import STARTUP, StepEvent, TaskStep
from eosfw.records import SourceRecord
from eosfw_opentelemetry.span_observer import SpanObserver

TASK = ConnectorTaskId("c", 0)


class Spans:
    """An observer with an SDK, and what it exported."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self._exporter, self._provider = InMemorySpanExporter(), TracerProvider(sampler)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.observer = SpanObserver(self._provider.get_tracer("test"))

    def of(self, name: str) -> list[ReadableSpan]:
        """Those of one name, in the order of their ends."""
        return [span for span in self._exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def spans() -> Spans:
    return Spans()


def tell(spans: Spans, step: TaskStep, at: float, *, leader: bool = False, **detail: Any) -> None:
    task, transaction = (None, None) if leader else (TASK, 1)
    spans.observer.observe(StepEvent(step, at, at, "c", task, 4, "g-c-0", transaction, detail))


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("eosfw."): value for name, value in (span.attributes or {}).items()}


def test_a_start_is_a_span_with_its_steps(spans):
    with WorkerHarness(on_step=spans.observer.observe) as stage:
        stage.put("c", until="3")
        stage.until_drained()

    (start,) = spans.of("start task")
    assert {event.name for event in start.events} == {step.value for step in STARTUP}
    named = {"connector": "c", "task": 0, "generation": 0, "transactional_id": "g-c-0", "outcome": "started"}
    assert attributes(start) == named
    assert start.status.status_code is StatusCode.UNSET


def test_each_transaction_is_a_span_with_its_records_and_outcome(spans):
    with WorkerHarness(on_step=spans.observer.observe) as stage:
        stage.put("c", streams="1", until="3")
        stage.until_drained()

    found = [attributes(span) for span in spans.of("transaction")]
    assert sum(one["records"] for one in found) == 3
    assert [one["transaction"] for one in found] == list(range(1, len(found) + 1))
    assert {(one["outcome"], one["transactional_id"]) for one in found} == {("committed", "g-c-0")}
    assert all(span.end_time >= span.start_time for span in spans.of("transaction"))
    assert spans.observer._open == {}, "something is kept of a task that has ended"


def test_an_aborted_transaction_tells_what_it_discarded(spans):
    def ask(context: Any) -> list[SourceRecord]:
        context.transaction.abort()
        return [record(0), record(1)]

    with WorkerHarness(connector_of(scripted(ask, batch(2))), on_step=spans.observer.observe) as stage:
        stage.put("c", transaction_boundary="connector")
        stage.until_drained()

    aborted = attributes(spans.of("transaction")[0])
    assert (aborted["outcome"], aborted["records"]) == ("aborted", 2)


def test_a_fencing_round_is_a_span_with_the_ids(spans):
    with WorkerHarness(on_step=spans.observer.observe) as stage:
        for streams in ("2", "1"):
            stage.put("c", streams=streams, until="3", tasks_max=streams)
            stage.until_drained()

    (round_,) = spans.of("fence zombies")
    found = attributes(round_)
    assert (found["connector"], found["generation"], found["outcome"]) == ("c", 1, "fenced")
    assert (found["ids"], found["transactional_id"]) == (("g-c-0", "g-c-1"), "connect-cluster-g")


def test_a_fenced_transaction_has_failed_with_its_reason(spans):
    tell(spans, TaskStep.BEGIN, 1.0)
    tell(spans, TaskStep.SEND, 2.0, records=7)
    tell(spans, TaskStep.FENCED, 3.0, error="a newer producer holds 'g-c-0'")

    (fenced,) = spans.of("transaction")
    assert attributes(fenced)["outcome"] == "fenced"
    assert (fenced.start_time, fenced.end_time) == (1_000_000_000, 3_000_000_000)
    assert fenced.status.status_code is StatusCode.ERROR
    assert fenced.status.description == "a newer producer holds 'g-c-0'"


def test_a_start_that_fails_has_its_reason(spans):
    tell(spans, TaskStep.REQUEST_FENCING, 1.0)
    tell(spans, TaskStep.FAILED, 2.0, error="no leader")

    (start,) = spans.of("start task")
    assert (attributes(start)["outcome"], start.status.description) == ("failed", "no leader")


def test_a_fencing_round_that_failed_ends_with_its_last_step(spans):
    """The next one of the connector may come much later."""
    tell(spans, TaskStep.FENCE_ZOMBIES, 1.0, leader=True, ids=["g-c-0"])
    tell(spans, TaskStep.FENCE_ZOMBIES, 500.0, leader=True, ids=["g-c-0"])
    tell(spans, TaskStep.WRITE_TASK_COUNT, 501.0, leader=True, count=1)

    failed, done = spans.of("fence zombies")
    assert (attributes(failed)["outcome"], failed.end_time) == ("unfinished", 1_000_000_000)
    assert failed.status.status_code is StatusCode.ERROR
    assert (attributes(done)["outcome"], done.end_time - done.start_time) == ("fenced", 1_000_000_000)


class EverySecond(Sampler):
    """Drops the first span, records the second, and so on."""

    def __init__(self) -> None:
        self._count = 0

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        self._count += 1
        return SamplingResult(Decision.DROP if self._count % 2 else Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        return "every second"


def test_a_sampler_is_asked_once_for_a_start():
    """Asked again at each step, it would record more starts than it is set to, and these without their first steps."""
    spans = Spans(EverySecond())
    for at in (1.0, 2.0, 3.0):
        for step in STARTUP:
            tell(spans, step, at)
        tell(spans, TaskStep.POLL, at + 0.5)

    (start,) = spans.of("start task")
    assert start.start_time == 2_000_000_000
    assert [event.name for event in start.events] == [step.value for step in STARTUP]


def test_without_an_sdk_nothing_is_kept():
    """A task that polls for a year must not fill the memory."""
    observer = SpanObserver()
    with WorkerHarness(on_step=observer.observe) as stage:
        stage.put("c", until="3")
        stage.until_drained()

    assert observer._open == {}
