"""The author of each record: the task, its generation, its transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from eosfw.errors import EosfwError
from eosfw.ids import ConnectorTaskId, TopicPartition
from eosfw.observe import StepEvent, TaskStep
from eosfw.protocols import Backend, BatchDeliveryCallback, DeliveryCallback, TransactionalProducer
from eosfw.records import ProducerBatch, ProducerRecord, RecordMetadata

Place = tuple[str, int, int]
"""Topic, partition, offset."""
_TaskOfGeneration = tuple[ConnectorTaskId, int | None]
Start = tuple[ConnectorTaskId | None, int | None, int]
"""Task, generation, and which start of the task in it."""
_current_step: ContextVar[StepEvent | None] = ContextVar("eos_acting", default=None)
"""The last step that was reported on this thread."""
_current_start: ContextVar[tuple[_TaskOfGeneration, int] | None] = ContextVar("eos_start", default=None)
"""The task that this thread runs, and how often it had been started in its generation then."""


@dataclass(frozen=True, slots=True)
class Author:
    """The task and transaction that wrote a record."""

    task: ConnectorTaskId
    generation: int | None
    transactional_id: str | None
    transaction: int | None
    start: int = 1
    """Which start of the task in its generation it was: each of them counts its transactions from 1."""

    def __str__(self) -> str:
        which = f", transaction {self.transaction} of {self.transactional_id}" if self.transaction else ""
        return f"task {self.task} of generation {self.generation}{which}"


class Authors:
    """An observer that knows which task runs on which thread, and keeps the author of each record it sends."""

    name: ClassVar[str] = "eos-authors"

    def __init__(self) -> None:
        self._of: dict[Place, Author] = {}
        self._of_offsets: dict[Place, Author] = {}
        self.topics: dict[str, set[str]] = {}
        """The topics to which the tasks of each connector sent records of their sources."""
        self._starts: Counter[_TaskOfGeneration] = Counter()
        self._start_of: dict[int, int] = {}
        """By the identity of an event."""
        self._began: dict[tuple[_TaskOfGeneration, int | None], int] = {}

    def observe(self, event: StepEvent) -> None:
        _current_step.set(event)
        if event.task is not None:
            self._start_of[id(event)] = self._current_start((event.task, event.generation), event)

    def _current_start(self, task: _TaskOfGeneration, event: StepEvent) -> int:
        if event.step is TaskStep.REQUEST_FENCING:
            self._starts[task] += 1
            _current_start.set((task, self._starts[task]))
        current = _current_start.get()
        if current is None or current[0] != task:  # the thread of a commit that overlaps the next poll
            return self._began.get((task, event.transaction), self._starts[task])
        if event.step is TaskStep.BEGIN:
            self._began[task, event.transaction] = current[1]
        return current[1]

    def author_of(self, event: StepEvent) -> Author | None:
        """The author of what is sent at an event; None if the event belongs to no task."""
        if event.task is None:
            return None
        return Author(event.task, event.generation, event.transactional_id, event.transaction, self.start_of(event))

    def start_of(self, event: StepEvent) -> int:
        """Which start of its task in its generation an event belongs to, from 1; two of them may overlap."""
        return self._start_of.get(id(event), 1)

    def start_key(self, event: StepEvent) -> Start:
        """What tells the start that an event belongs to from all others."""
        return event.task, event.generation, self.start_of(event)

    def at(self, partition: TopicPartition, offset: int) -> Author | None:
        """The author of the record at a place, if it is known."""
        return self._of.get((*partition, offset))

    def places_of(self, event: StepEvent) -> list[Place]:
        """Where each record of an event's transaction is whose author is known."""
        wanted = self.author_of(event)
        return [place for place, author in self._of.items() if author == wanted]

    def places(self) -> Mapping[Place, Author]:
        """Where each record is whose author is known, in the order of delivery."""
        return dict(self._of)

    def offset_places(self) -> Mapping[Place, Author]:
        """The same of records of source offsets alone."""
        return dict(self._of_offsets)

    def signed(self, topic: str, then: BatchDeliveryCallback | None) -> BatchDeliveryCallback | None:
        """A callback that keeps the author of the delivered records, then calls `then`."""
        event = _current_step.get()
        author = None if event is None else self.author_of(event)
        if event is None or author is None:
            return then
        if event.step is TaskStep.SEND_OFFSETS:
            return partial(self._sign, (self._of, self._of_offsets), author, then)
        self.topics.setdefault(author.task.connector, set()).add(topic)
        return partial(self._sign, (self._of,), author, then)

    def _sign(
        self,
        kept: Sequence[dict[Place, Author]],
        author: Author,
        then: BatchDeliveryCallback | None,
        index: int,
        metadata: RecordMetadata | None,
        error: EosfwError | None,
    ) -> None:
        if metadata is not None:
            for authors in kept:
                authors[metadata.topic, metadata.partition, metadata.offset] = author
        if then is not None:
            then(index, metadata, error)


def current_step() -> StepEvent | None:
    """The last step that was announced on this thread."""
    return _current_step.get()


class SigningBackend:
    """A backend whose producers keep the author of each record; all other calls go to the real one."""

    def __init__(self, real: Backend, authors: Authors) -> None:
        self.real, self._authors = real, authors
        self.name, self.capabilities = real.name, real.capabilities

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def producer(self, transactional_id: str | None, **how: Any) -> Any:
        return _SigningProducer(self.real.producer(transactional_id, **how), self._authors)


class _SigningProducer:
    def __init__(self, real: TransactionalProducer, authors: Authors) -> None:
        self._real, self._authors = real, authors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def send(self, record: ProducerRecord, on_delivery: DeliveryCallback | None = None) -> None:
        then = None if on_delivery is None else lambda _, metadata, error: on_delivery(metadata, error)
        signed = self._authors.signed(record.topic, then)
        self._real.send(record, None if signed is None else partial(signed, 0))

    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        self._real.send_batch(batch, self._authors.signed(batch.topic, on_delivery))
