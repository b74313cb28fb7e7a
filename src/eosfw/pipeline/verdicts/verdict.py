"""Count how often each record of the sources became visible."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from eosfw.capabilities import Capabilities
from eosfw.config.connector import IDENTITY
from eosfw.errors import DamagedDataError, Problem, TaskFailedError
from eosfw.identity import NONE, IdentityHeaders, UnidentifiedRecords, effective_identity_kind, identity_of
from eosfw.ids import TopicPartition
from eosfw.pipeline.definition.model import Pipeline
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.pipeline.verdicts.comparison import Comparison, ExpectedRecords
from eosfw.pipeline.verdicts.replay import PAUSE, Replay, open_replay
from eosfw.pipeline.verdicts.task_replay import TaskReplay
from eosfw.protocols import Verdict
from eosfw.records import LogBatch, OffsetRange
from eosfw.runtime.checks.preflight import framework_config
from eosfw.runtime.records.poll_result import offsets_lacking
from eosfw.state.tasks.poll_batch import PollBatch

Ranges = Mapping[TopicPartition, OffsetRange]
Bounds = Callable[[Collection[str]], Ranges]
"""The committed ranges of topics."""
Advanced = Callable[[int, int], None]
"""Told now and then how many offsets of how many were compared, or of none; may raise to end the count."""
_STALL = 30.0
_ALLOCATIONS = 100_000
UNVERIFIED = Verdict(None, None)


def judge(run: LocalRun, bounds: Bounds, advanced: Advanced) -> tuple[Verdict, list[str]]:
    """Duplicates and missing records of all connectors that say how their records are identified.

    Also tells, in words, what could not be verified; then the numbers are None.
    """
    unverified = [str(problem) for problem in unverifiable(run.pipeline, run.backend.capabilities)]
    if unverified:
        return UNVERIFIED, unverified
    verdicts = []
    for kind, names in _kinds(run).items():
        try:
            with ExitStack() as opened, _rare_collections():
                verdicts.append(_Count(run, kind, opened, advanced).verdict(names, bounds))
        except DamagedDataError as error:
            unverified.append(f"connectors {', '.join(names)}: {error}")
    if unverified or not verdicts:
        return UNVERIFIED, unverified
    return _sum(verdicts), []


def unverifiable(pipeline: Pipeline, capabilities: Capabilities) -> list[Problem]:
    """The connectors whose records cannot be counted, as far as their properties tell."""
    found = []
    for name, properties in pipeline.connectors.items():
        chosen = framework_config(properties)[IDENTITY]
        if effective_identity_kind(chosen, capabilities) == NONE:
            why = (
                f'"{IDENTITY}" is "{NONE}"'
                if chosen == NONE
                else f'name an identity, "{IDENTITY}", to have them counted'
            )
            found.append(Problem(f"connector {name}", f"its records cannot be verified: {why}"))
    return found


def _kinds(run: LocalRun) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for name, properties in run.pipeline.connectors.items():
        config = framework_config(properties)
        kinds.setdefault(effective_identity_kind(config[IDENTITY], run.backend.capabilities), []).append(name)
    return kinds


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cyclic garbage rarely: millions of records come and go here, none in a cycle, and each look costs."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Count:
    """The count of connectors whose records have one kind of identity."""

    def __init__(self, run: LocalRun, kind: str, opened: ExitStack, advanced: Advanced) -> None:
        self._run, self._kind, self._opened, self._advanced = run, kind, opened, advanced
        self._strangers = UnidentifiedRecords(kind)
        self._topics: dict[str, None] = {}

    def verdict(self, names: Sequence[str], bounds: Bounds) -> Verdict:
        """Read topics beside the replays that name them, mostly with their first records."""
        replays = [
            self._opened.enter_context(open_replay(self._run, name, record_offsets=self._by_headers)) for name in names
        ]
        lanes = [self._lane(name, one, task) for name, one in zip(names, replays, strict=True) for task in one.tasks]
        comparison = self._opened.enter_context(Comparison(lanes, self._identify, self._strangers))
        for lane in lanes:
            lane.ready()
        read: set[str] = set()
        while topics := sorted(self._topics.keys() - read) or comparison.drain(self._pause):
            if isinstance(topics, list):
                read.update(topics)
                self._compare(comparison, bounds(topics))
            self._advanced(0, 0)
        for one in replays:
            one.check()
        self._strangers.refuse()
        return comparison.verdict()

    def _compare(self, comparison: Comparison, ranges: Ranges) -> None:
        total = sum(one.end - one.start for one in ranges.values())
        done = dict.fromkeys(ranges, 0)
        with closing(self._run.reader(headers=self._by_headers)) as reader:
            for batch in reader.read(ranges, _STALL):
                if isinstance(batch, LogBatch):
                    comparison.take(batch, self._raw_found(batch), self._pause)
                    where = TopicPartition(batch.topic, batch.partition)
                    done[where] = batch.offsets[-1] + 1 - ranges[where].start
                    self._advanced(sum(done.values()), total)

    def _lane(self, name: str, replay: Replay, task: TaskReplay) -> ExpectedRecords:
        headers = IdentityHeaders(name)

        def poll() -> Sequence[Any] | None:
            polled = replay.poll(task)
            return self._raw_expected(replay.rest(task) if polled is None else polled, headers, task) or (
                None if polled is None else ()
            )

        return ExpectedRecords(poll)

    def _raw_expected(self, polled: Sequence[PollBatch], headers: IdentityHeaders, task: TaskReplay) -> Sequence[Any]:
        """What is compared of a poll: the values, or the headers that identify each record."""
        sent = [batch for batch in polled if len(batch.columns)]
        if not sent:
            return ()
        self._topics.update(dict.fromkeys(batch.columns.topic for batch in sent))
        raw = [each for batch in sent for each in self._column(batch, headers, task)]
        self._identify(raw[0])  # so that records without an identity are reported before anything is counted
        return raw

    def _column(self, batch: PollBatch, headers: IdentityHeaders, task: TaskReplay) -> Sequence[Any]:
        if not self._by_headers:
            return batch.columns.values
        if batch.source_offsets is None:
            raise TaskFailedError(offsets_lacking(task.id))
        partitions, offsets = batch.kept_of(batch.source_partitions), batch.kept_of(batch.source_offsets)
        return headers.column(partitions, offsets, batch.columns.headers)

    def _raw_found(self, batch: LogBatch) -> list[Any]:
        return list((batch.headers or [()] * len(batch)) if self._by_headers else batch.values)

    def _identify(self, raw: Any) -> bytes:
        return identity_of(None, raw, self._kind) if self._by_headers else identity_of(raw, None, self._kind)

    def _pause(self) -> None:
        self._advanced(0, 0)
        self._run.runtime.sleep(PAUSE)

    @property
    def _by_headers(self) -> bool:
        return self._kind == "headers"


def _sum(verdicts: Sequence[Verdict]) -> Verdict:
    examples = [example for one in verdicts for example in one.examples]
    return Verdict(sum(one.duplicates or 0 for one in verdicts), sum(one.missing or 0 for one in verdicts), examples)
