"""Spans from the steps of tasks and of the leader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from opentelemetry.trace import Span, Status, StatusCode, Tracer, get_tracer

from eosfw.observe import STARTUP, StepEvent, TaskStep
from eosfw_opentelemetry.log_handler import current_span, install

_STARTUP = frozenset(STARTUP)
_ENDS = frozenset({TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED})
_START, _TRANSACTION, _FENCING = "start task", "transaction", "fence zombies"


class _Key(NamedTuple):
    name: str
    connector: str
    generation: int | None
    task: int | None = None
    transaction: int | None = None


@dataclass(slots=True)
class _OpenSpan:
    span: Span
    last: int
    """When the newest step of it was, in nanoseconds since 1970."""


class SpanObserver:
    """Makes spans of starts, transactions and fencing rounds; none while no OpenTelemetry SDK is configured.

    A span is touched by one thread at a time, that of its task or its leader; the mapping of all is only changed by
    single operations, so no lock is held while a span is exported.
    """

    name: ClassVar[str] = "opentelemetry"

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = get_tracer("eosfw") if tracer is None else tracer
        self._open: dict[_Key, _OpenSpan] = {}
        install()

    def observe(self, event: StepEvent) -> None:
        if event.task is None:
            self._observe_leader(event)
        elif event.step in _STARTUP:
            self._note(_key(_START, event), event)
        elif event.step in _ENDS:
            self._end_all(event)
        else:
            self._observe_transaction(event)

    def _observe_leader(self, event: StepEvent) -> None:
        key = _Key(_FENCING, event.connector, event.generation)
        match event.step:
            case TaskStep.FENCE_ZOMBIES:
                self._end_unfinished(event.connector)
                self._note(key, event)
            case TaskStep.CHECK_GENERATION if key in self._open:
                self._note(key, event)
            case TaskStep.WRITE_TASK_COUNT:
                self._end(key, _nanoseconds(event), "fenced")

    def _observe_transaction(self, event: StepEvent) -> None:
        match event.step:
            case TaskStep.POLL:
                self._end(_key(_START, event), _nanoseconds(event), "started")
            case TaskStep.BEGIN:
                self._note(_key(_TRANSACTION, event), event)
            case TaskStep.COMMITTED | TaskStep.ABORTED:
                self._end(_key(_TRANSACTION, event), _nanoseconds(event), event.step.value, event.detail)

    def _note(self, key: _Key, event: StepEvent) -> None:
        """Open a span, unless it is open; a step of a span is an event of it."""
        at = _nanoseconds(event)
        known = self._open.get(key)
        if known is None:
            span = self._tracer.start_span(key.name, attributes=_attributes(event), start_time=at)
            known = self._open[key] = _OpenSpan(span, at)
            current_span.set(span)  # a task, or a leader, announces on the thread that does the work
        known.span.add_event(event.step.value, timestamp=at)
        known.last = at

    def _end(self, key: _Key, at: int, outcome: str, detail: Mapping[str, object] = MappingProxyType({})) -> None:
        known = self._open.pop(key, None)
        if known is None:
            return
        known.span.set_attribute("eosfw.outcome", outcome)
        if isinstance(records := detail.get("records"), int):
            known.span.set_attribute("eosfw.records", records)
        if "error" in detail:
            known.span.set_status(Status(StatusCode.ERROR, str(detail["error"])))
        known.span.end(at)

    def _end_all(self, event: StepEvent) -> None:
        """End what is open of a task that has ended, or whose producer was fenced."""
        lane = _key("", event)[1:4]
        for key in [one for one in list(self._open) if one[1:4] == lane]:
            self._end(key, _nanoseconds(event), event.step.value, event.detail)

    def _end_unfinished(self, connector: str) -> None:
        """End a round that failed: it has no step of its own for that."""
        for key, known in list(self._open.items()):
            if key.name == _FENCING and key.connector == connector:
                self._end(key, known.last, "unfinished", {"error": "the round did not end"})


def _key(name: str, event: StepEvent) -> _Key:
    task = None if event.task is None else event.task.task
    transaction = event.transaction if name == _TRANSACTION else None
    return _Key(name, event.connector, event.generation, task, transaction)


def _attributes(event: StepEvent) -> dict[str, str | int | Sequence[str]]:
    ids = event.detail.get("ids")
    values = {
        "connector": event.connector,
        "task": None if event.task is None else event.task.task,
        "generation": event.generation,
        "transactional_id": event.transactional_id,
        "transaction": event.transaction,
        "ids": [str(one) for one in ids] if isinstance(ids, Sequence) else None,
    }
    return {f"eosfw.{name}": value for name, value in values.items() if value is not None}


def _nanoseconds(event: StepEvent) -> int:
    return int(event.wall * 1_000_000_000)
