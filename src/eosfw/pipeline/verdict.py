"""Count how often each record of the sources became visible (ruling 7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing

from eosfw.capabilities import Capabilities
from eosfw.config import Config
from eosfw.config.connector import IDENTITY
from eosfw.errors import DamagedDataError, Problem
from eosfw.identity import NONE, IdentityHeaders, Strangers, identity_of, kind_in_force
from eosfw.ids import TopicPartition
from eosfw.pipeline.counting import Spool, count
from eosfw.pipeline.local import LocalRun
from eosfw.pipeline.model import Pipeline
from eosfw.pipeline.replay import replayed
from eosfw.protocols import StepEngine, Verdict
from eosfw.records import LogBatch, OffsetRange
from eosfw.registry import Plugins
from eosfw.runtime.preflight import connector_config

Ranges = Mapping[TopicPartition, OffsetRange]
Bounds = Callable[[Collection[str]], Ranges]
"""The committed ranges of topics."""
_STALL = 30.0
UNVERIFIED = Verdict(None, None)


def judge(run: LocalRun, bounds: Bounds, engine: StepEngine | None) -> tuple[Verdict, list[str]]:
    """Duplicates and missing records of all connectors that say how their records are identified.

    Also tells, in words, what could not be verified; then the numbers are None.
    """
    unverified = [str(problem) for problem in unverifiable(run.pipeline, run.plugins, run.backend.capabilities)]
    if unverified:
        return UNVERIFIED, unverified
    verdicts = []
    for kind, names in _kinds(run).items():
        try:
            verdicts.append(_judge_kind(run, kind, names, bounds, engine))
        except DamagedDataError as error:
            unverified.append(f"connectors {', '.join(names)}: {error}")
    if unverified or not verdicts:
        return UNVERIFIED, unverified
    return _sum(verdicts), []


def unverifiable(pipeline: Pipeline, plugins: Plugins, capabilities: Capabilities) -> list[Problem]:
    """The connectors whose records cannot be counted, as far as their properties tell."""
    found = []
    for name, properties in pipeline.connectors.items():
        config = connector_config(plugins.connector(properties["connector.class"]), name, properties)
        if (why := _uncountable(config, capabilities)) is not None:
            found.append(Problem(f"connector {name}", f"its records cannot be verified: {why}"))
    return found


def _uncountable(config: Config, capabilities: Capabilities) -> str | None:
    if kind_in_force(config[IDENTITY], capabilities) == NONE:
        return f'name an identity, "{IDENTITY}", to have them counted'
    return None


def _kinds(run: LocalRun) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for name, properties in run.pipeline.connectors.items():
        config = connector_config(run.plugins.connector(properties["connector.class"]), name, properties)
        kinds.setdefault(kind_in_force(config[IDENTITY], run.backend.capabilities), []).append(name)
    return kinds


def _judge_kind(run: LocalRun, kind: str, names: Sequence[str], bounds: Bounds, engine: StepEngine | None) -> Verdict:
    topics: set[str] = set()
    with Spool() as expected:
        for chunk in _expected(run, kind, names, topics):
            expected.add(chunk)
        if not topics:
            return Verdict(0, 0)
        ranges = bounds(sorted(topics))
        if engine is not None:
            return engine.verdict(ranges, kind, expected)
        return count(lambda: _found(run, kind, ranges), expected)


def _expected(run: LocalRun, kind: str, names: Sequence[str], topics: set[str]) -> Iterator[list[bytes]]:
    for name in names:
        own = IdentityHeaders(name)
        for chunk in replayed(run, name, apart=kind == "headers"):
            topics.update(record.topic for record in chunk)
            headers = own.of_records(chunk) if kind == "headers" else [()] * len(chunk)
            yield [identity_of(record.value, each, kind) for record, each in zip(chunk, headers, strict=True)]


def _found(run: LocalRun, kind: str, ranges: Ranges) -> Iterator[list[bytes]]:
    """What the topics hold; DamagedDataError names the records that nobody can identify."""
    strangers = Strangers(kind)
    with closing(run.reader(headers=kind == "headers")) as reader:
        for batch in reader.read(ranges, _STALL):
            if isinstance(batch, LogBatch):
                yield list(_identities(batch, strangers))
    strangers.refuse()


def _identities(batch: LogBatch, strangers: Strangers) -> Iterator[bytes]:
    headers = batch.headers or [()] * len(batch)
    for offset, value, own in zip(batch.offsets, batch.values, headers, strict=True):
        try:
            yield identity_of(value, own, strangers.kind)
        except DamagedDataError:
            strangers.add(f"{batch.topic}-{batch.partition}@{offset}")


def _sum(verdicts: Sequence[Verdict]) -> Verdict:
    known = [(one.duplicates, one.missing) for one in verdicts]
    if any(duplicates is None or missing is None for duplicates, missing in known):
        return UNVERIFIED
    examples = [example for one in verdicts for example in one.examples]
    return Verdict(sum(d or 0 for d, _ in known), sum(m or 0 for _, m in known), examples)
