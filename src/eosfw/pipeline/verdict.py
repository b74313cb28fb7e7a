"""Count how often each record of the sources became visible (ruling 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice, repeat

from eosfw.config.connector import BOUNDARY, IDENTITY
from eosfw.errors import DamagedDataError
from eosfw.identity import NONE, IdentityHeaders, identity_of, kind_in_force
from eosfw.ids import TopicPartition
from eosfw.pipeline.local import LocalRun
from eosfw.pipeline.replay import replayed
from eosfw.protocols import StepEngine, Verdict
from eosfw.records import LogBatch, OffsetRange, SourceRecord
from eosfw.runtime.preflight import connector_config

Ranges = Mapping[TopicPartition, OffsetRange]
Bounds = Callable[[Collection[str]], Ranges]
"""The committed ranges of topics."""
_STALL = 30.0
_EXAMPLES = 5
UNVERIFIED = Verdict(None, None)


def judge(run: LocalRun, bounds: Bounds, engine: StepEngine | None) -> tuple[Verdict, list[str]]:
    """Duplicates and missing records of all connectors that say how their records are identified.

    Also tells, in words, what could not be verified; then the numbers are None.
    """
    kinds, unverified = _kinds(run)
    verdicts = []
    for kind, names in kinds.items():
        try:
            verdicts.append(_judge_kind(run, kind, names, bounds, engine))
        except DamagedDataError as error:
            unverified.append(f"connectors {', '.join(names)}: {error}")
    if unverified or not verdicts:
        return UNVERIFIED, unverified
    return _sum(verdicts), []


def identity(run: LocalRun, name: str) -> str:
    """What identifies a connector's records in this run."""
    properties = run.pipeline.connectors[name]
    config = connector_config(run.plugins.connector(properties["connector.class"]), name, properties)
    return kind_in_force(config[IDENTITY], run.backend.capabilities)


def count(found: Iterable[bytes], expected: Iterable[Sequence[bytes]]) -> Verdict:
    """Compare identities that were found with those expected, in this process."""
    balance: Counter[bytes] = Counter()
    for chunk in expected:
        balance.subtract(chunk)
    balance.update(found)
    extra = {one: number for one, number in balance.items() if number > 0}
    short = {one: -number for one, number in balance.items() if number < 0}
    examples = [f"{what}: {one.decode(errors='replace')}" for what, many in (("twice", extra), ("missing", short))
                for one in islice(many, _EXAMPLES)]  # fmt: skip
    return Verdict(sum(extra.values()), sum(short.values()), examples)


def _kinds(run: LocalRun) -> tuple[dict[str, list[str]], list[str]]:
    kinds: dict[str, list[str]] = {}
    unverified = []
    for name, properties in run.pipeline.connectors.items():
        config = connector_config(run.plugins.connector(properties["connector.class"]), name, properties)
        kind = identity(run, name)
        if kind == NONE:
            unverified.append(f'connector {name}: set "eosfw.identity" to have its records counted')
        elif config[BOUNDARY] == "connector":
            unverified.append(f"connector {name}: it may discard records by {BOUNDARY}=connector")
        else:
            kinds.setdefault(kind, []).append(name)
    return kinds, unverified


def _judge_kind(run: LocalRun, kind: str, names: Sequence[str], bounds: Bounds, engine: StepEngine | None) -> Verdict:
    topics: set[str] = set()
    expected = list(_expected(run, kind, names, topics))
    if not topics:
        return Verdict(0, 0)
    ranges = bounds(sorted(topics))
    if engine is not None:
        return engine.verdict(ranges, kind, expected)
    return count(_found(run, kind, ranges), expected)


def _expected(run: LocalRun, kind: str, names: Sequence[str], topics: set[str]) -> Iterator[list[bytes]]:
    for name in names:
        for chunk in replayed(run, name):
            topics.update(record.topic for record in chunk)
            yield _identities(IdentityHeaders(name), chunk, kind)


def _identities(own: IdentityHeaders, chunk: Sequence[SourceRecord], kind: str) -> list[bytes]:
    headers = own.of_records(chunk) if kind == "headers" else repeat(None)
    return [identity_of(record.value, each, kind) for record, each in zip(chunk, headers, strict=False)]


def _found(run: LocalRun, kind: str, ranges: Ranges) -> Iterator[bytes]:
    wants_headers = kind == "headers"
    with closing(run.plugins.isolation_reader().over(run.backend, run.runtime, headers=wants_headers)) as reader:
        for batch in reader.read(ranges, _STALL):
            if isinstance(batch, LogBatch):
                headers = batch.headers or [()] * len(batch)
                for value, own in zip(batch.values, headers, strict=True):
                    yield identity_of(value, own, kind)


def _sum(verdicts: Sequence[Verdict]) -> Verdict:
    known = [(one.duplicates, one.missing) for one in verdicts]
    if any(duplicates is None or missing is None for duplicates, missing in known):
        return UNVERIFIED
    examples = [example for one in verdicts for example in one.examples]
    return Verdict(sum(d or 0 for d, _ in known), sum(m or 0 for _, m in known), examples)
