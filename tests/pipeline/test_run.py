"""A run's verification reads committed records, and compares them with the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import SourceTask
from eosfw.errors import ClusterUnavailableError, ConfigError, InterruptedRunError, TaskFailedError
from eosfw.ids import TopicPartition
from eosfw.pipeline import (
    ClusterChoice,
    LocalRun,
    Options,
    Pipeline,
    RunControl,
    SilentReporter,
    Summary,
    Verification,
    run,
)
from eosfw.pipeline.verdicts.comparison import Comparison
from eosfw.pipeline.verdicts.identity_count import Spool, SpoolError, count_identities
from eosfw.protocols import Step, StepInput, Verdict
from eosfw.records import OffsetRange, ProducerRecord
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

Make = Callable[..., Pipeline]


def done(pipeline: Pipeline, plugins: Plugins, verify: Verification | None = Verification.TRY) -> Summary:
    return run(pipeline, plugins, RunControl(ThreadRuntime()), SilentReporter(), Options(verify=verify))


def write(pipeline: Pipeline, plugins: Plugins, value: bytes) -> None:
    """Write a record outside any task, as a duplicate or foreign record."""
    with LocalRun(pipeline, plugins, ThreadRuntime()) as local:
        producer = local.backend.producer(None)
        producer.send(ProducerRecord(pipeline.connectors["c"]["topic"], value))
        producer.flush(10)
        producer.close()


class RangesRead:
    """A step engine that notes what its steps would read."""

    name = "ranges"
    seen: list[Mapping[TopicPartition, OffsetRange]] = []  # noqa: RUF012 - the engine makes its own object

    @classmethod
    def problems(cls, steps: Any, folder: str) -> Any:
        return []

    @classmethod
    def start(cls, *_: Any) -> RangesRead:
        return cls()

    def run(self, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        self.seen.append(ranges)
        return 0

    def close(self) -> None:
        pass


def test_steps_read_an_empty_source_as_no_rows(pipeline: Make, plugins: Plugins) -> None:
    """Its topic is created as a record would have created it; the next run may bring the first ones."""
    flow = pipeline(records="0", **{"topic.creation.default.partitions": "2"})
    topic = flow.connectors["c"]["topic"]
    flow = replace(flow, steps=[Step("s", [StepInput("t", topic)], "out", sql="x")], engine="ranges")
    engines = (*plugins._found, RegisteredPlugin("step engine", RangesRead, PluginSource("x", "1", "x")))

    summary = done(flow, Plugins(engines, ()), Verification.OFF)

    assert (summary.records, summary.steps["s"].rows) == (0, 0)
    assert RangesRead.seen == [{TopicPartition(topic, each): OffsetRange(0, 0) for each in (0, 1)}]


@pytest.mark.parametrize("identity", ["value", "field:n", "headers"])
def test_a_second_run_continues_and_the_whole_topic_is_verified(
    pipeline: Make, plugins: Plugins, identity: str
) -> None:
    """What is expected is a replay of the source up to the committed offsets, of all runs."""
    first = done(pipeline(eosfw_identity=identity), plugins)
    second = done(pipeline(eosfw_identity=identity, records="25"), plugins)

    assert (first.records, first.transactions, first.duplicates, first.missing) == (10, 4, 0, 0)
    assert (second.records, second.duplicates, second.missing) == (15, 0, 0)


def test_a_connector_with_its_own_offsets_topic_is_verified(pipeline: Make, plugins: Plugins) -> None:
    """OFF-08: the replay ends at the offsets of that topic; a second run continues there."""
    flow = pipeline(backend="memory")
    flow = replace(flow, connectors={"c": {**flow.connectors["c"], "offsets.storage.topic": f"own-{uuid4().hex[:8]}"}})
    first, second = done(flow, plugins), done(flow, plugins)

    assert (first.records, second.records) == (10, 0)
    assert [(one.duplicates, one.missing, one.unverified) for one in (first, second)] == [(0, 0, [])] * 2


def test_a_run_on_the_embedded_backend_is_verified_without_being_asked(pipeline: Make, plugins: Plugins) -> None:
    """Headers that identify each record are its default."""
    flow = pipeline(backend="memory")
    clean = done(flow, plugins)
    write(flow, plugins, b'{"n":3}')
    foreign = done(flow, plugins)

    assert (clean.records, clean.duplicates, clean.missing, clean.unverified) == (10, 0, 0, [])
    assert (foreign.duplicates, foreign.missing) == (None, None)
    topic = flow.connectors["c"]["topic"]
    assert f"1 foreign record without identity (headers), at {topic}-0@" in foreign.unverified[0]


@pytest.mark.parametrize(
    ("backend", "identity", "why"),
    [
        ("memory", {"eosfw_identity": "none"}, '"eosfw.identity" is "none"'),
        ("confluent", {}, 'name an identity, "eosfw.identity", to have them counted'),
    ],
)
def test_a_run_that_names_no_identity_is_not_verified(
    pipeline: Make, plugins: Plugins, backend: str, identity: dict[str, str], why: str
) -> None:
    """Null, never 0; whoever chose the identity `none` is not asked for one."""
    summary = done(pipeline(backend=backend, **identity), plugins)

    assert (summary.duplicates, summary.missing) == (None, None)
    assert summary.unverified == [f"connector c: its records cannot be verified: {why}"]


def test_batches_without_source_offsets_run_unverified_with_the_remedy(pipeline: Make, plugins: Plugins) -> None:
    """Headers are only the default here; the counts are null, and it says why."""
    summary = done(pipeline(backend="memory", columns="yes"), plugins)

    assert (summary.records, summary.duplicates, summary.missing, int(summary.exit_code)) == (10, None, None, 0)
    (why,) = summary.unverified
    assert "without `source_offsets`" in why
    assert 'set "eosfw.identity" to "value" or "field:NAME"' in why


def test_requested_identity_headers_refuse_batches_without_source_offsets(pipeline: Make, plugins: Plugins) -> None:
    """A configured identity is used or raises an error."""
    with pytest.raises(TaskFailedError, match="without `source_offsets`"):
        done(pipeline(backend="memory", columns="yes", eosfw_identity="headers"), plugins)


@pytest.mark.parametrize("identity", ["value", "field:n"])
def test_batches_without_source_offsets_are_verified_by_value(pipeline: Make, plugins: Plugins, identity: str) -> None:
    """The remedy works."""
    flow = pipeline(columns="yes", eosfw_identity=identity)
    clean = done(flow, plugins)
    write(flow, plugins, b'{"n":3}')
    doubled = done(flow, plugins)

    assert (clean.records, clean.duplicates, clean.missing) == (10, 0, 0)
    assert (doubled.duplicates, doubled.missing) == (1, 0)


def test_records_of_one_poll_may_share_an_offset(
    pipeline: Make, plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are committed together, such as all records that a connector makes of one row."""
    kind = plugins.connector("numbers").task
    poll = kind.poll
    monkeypatch.setattr(
        kind, "poll", lambda self: [replace(each, source_offset={"next": self.next}) for each in poll(self)]
    )

    summary = done(pipeline(eosfw_identity="value", records="9"), plugins)

    assert (summary.records, summary.duplicates, summary.missing) == (9, 0, 0)


def test_a_duplicate_is_found(pipeline: Make, plugins: Plugins) -> None:
    flow = pipeline(eosfw_identity="value")
    done(flow, plugins)
    write(flow, plugins, b'{"n":3}')

    summary = done(flow, plugins)
    assert (summary.duplicates, summary.missing, summary.passed, int(summary.exit_code)) == (1, 0, False, 1)
    assert '{"n":3}' in summary.examples[0]


def test_a_source_that_changed_cannot_be_verified(pipeline: Make, plugins: Plugins) -> None:
    """The counts are null, and it says why; never 0."""
    done(pipeline(eosfw_identity="value"), plugins)

    summary = done(pipeline(eosfw_identity="value", records="4"), plugins)
    assert (summary.duplicates, summary.missing) == (None, None)
    assert "could not be replayed" in summary.unverified[0]


@pytest.mark.parametrize(("verify", "code"), [(Verification.REQUIRED, 1), (Verification.TRY, 0)])
def test_a_required_verification_that_cannot_be_made_fails_the_run(
    pipeline: Make, plugins: Plugins, verify: Verification, code: int
) -> None:
    """A source that has died after 140 of 600 records tells nothing of the others."""
    done(pipeline(eosfw_identity="value", records="600"), plugins, Verification.OFF)

    summary = done(pipeline(eosfw_identity="value", records="140"), plugins, verify)

    assert (summary.duplicates, summary.missing, int(summary.exit_code)) == (None, None, code)
    assert summary.as_json()["passed"] is (code == 0)
    assert ("not verified, though that was required; " in summary.as_text()) is (code == 1)
    assert "could not be replayed" in summary.as_text()


def test_a_named_cluster_is_verified_only_when_that_is_asked_for(pipeline: Make, plugins: Plugins) -> None:
    flow = pipeline(eosfw_identity="value")
    unasked = done(flow, plugins, None)
    asked = done(replace(flow, verify=Verification.REQUIRED), plugins, None)
    overruled = done(replace(flow, verify=Verification.REQUIRED), plugins, Verification.OFF)

    assert (unasked.duplicates, list(unasked.unverified)) == (None, ["--verify asks for it"])
    assert (asked.duplicates, asked.missing, asked.verify) == (0, 0, "required")
    assert (overruled.duplicates, list(overruled.unverified)) == (None, ['verify = "off"'])


def test_a_cluster_of_the_runs_own_is_verified_unless_that_is_off(pipeline: Make, plugins: Plugins) -> None:
    flow = replace(pipeline(backend="memory"), cluster=ClusterChoice("memory", {}))

    assert done(flow, plugins, None).duplicates == 0
    assert done(replace(flow, verify=Verification.OFF), plugins, None).duplicates is None


def test_a_runs_own_broker_with_log_dirs_keeps_topics_and_offsets(
    pipeline: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """What `[broker]` of a pipeline file says goes to the broker of the run."""
    own = {"cluster": ClusterChoice("memory", {}), "broker": {"log.dirs": str(tmp_path / "data")}}

    first, second = (done(replace(pipeline(), **own), plugins) for _ in range(2))

    assert (first.records, second.records, second.duplicates, second.missing) == (10, 0, 0, 0)
    assert first.kept
    assert second.kept


def test_a_required_verification_that_no_run_could_make_starts_nothing(pipeline: Make, plugins: Plugins) -> None:
    with pytest.raises(ConfigError, match="name an identity"):
        done(pipeline(), plugins, Verification.REQUIRED)


def test_counting_reports_duplicates_and_missing_records() -> None:
    with spooled([b"a", b"b"], [b"c"]) as expected:
        verdict = count_identities(lambda: [[b"a", b"a", b"b"]], expected)

    assert verdict == Verdict(1, 1, ["1 too many: a", "missing: c"])


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_the_count_is_the_same_however_many_are_compared_at_once(at_once: int) -> None:
    """Memory is bounded: more records only need more passes."""
    identities = [b"%d" % number for number in range(300)]
    with spooled(identities[:200], identities[200:], [b"even twice"] * 2) as expected:
        right = count_identities(lambda: [[b"even twice", *identities], [b"even twice"]], expected, at_once)
        wrong = count_identities(lambda: [identities[10:], identities[:100], [b"even twice"] * 2], expected, at_once)
        short = count_identities(lambda: [identities], expected, at_once)

    assert right == Verdict(0, 0, [])
    assert (wrong.duplicates, wrong.missing, len(wrong.examples)) == (90, 0, 5)
    assert short == Verdict(0, 2, ["missing: even twice"])


def spooled(*chunks: list[bytes]) -> Spool:
    spool = Spool()
    for chunk in chunks:
        spool.add(chunk)
    return spool


class Watching(SilentReporter):
    """Notes how far the verification was."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def advanced(self, done: int, total: int, unit: str) -> None:
        self.seen.append((done, total))


def test_a_verification_tells_how_far_it_is(pipeline: Make, plugins: Plugins) -> None:
    watching = Watching()
    flow = pipeline(backend="memory", records="10")
    run(flow, plugins, RunControl(ThreadRuntime()), watching, Options(verify=Verification.REQUIRED))

    assert watching.seen
    assert all(0 < done <= total for done, total in watching.seen)
    assert {total for _, total in watching.seen} == {14}  # ten records, a marker behind each of four transactions


def test_a_verification_can_be_interrupted(pipeline: Make, plugins: Plugins) -> None:
    control = RunControl(ThreadRuntime())

    class Interrupting(SilentReporter):
        def phase(self, text: str) -> None:
            if text.startswith("verifying"):
                control.stop(InterruptedRunError("enough"))

    with pytest.raises(InterruptedRunError, match="enough"):
        run(pipeline(eosfw_identity="value"), plugins, control, Interrupting(), Options(verify=Verification.TRY))


@pytest.mark.parametrize("verify", [Verification.REQUIRED, Verification.TRY])
def test_a_full_temporary_folder_leaves_the_summary(
    pipeline: Make, plugins: Plugins, monkeypatch: pytest.MonkeyPatch, verify: Verification
) -> None:
    def full(*_: object) -> None:
        raise SpoolError("the temporary folder cannot hold what is compared: make room there")

    flow = pipeline(eosfw_identity="value")
    done(flow, plugins, Verification.OFF)
    write(flow, plugins, b"foreign")
    monkeypatch.setattr("eosfw.pipeline.verdicts.verdict.Comparison", partial(Comparison, limit=0))
    monkeypatch.setattr(Spool, "add", full)

    summary = done(flow, plugins, verify)
    assert (summary.duplicates, summary.passed) == (None, verify is Verification.TRY)
    assert "make room there" in summary.as_text()


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (RuntimeError("the source fell over"), "replay of task c-0 failed: RuntimeError: the source fell over (in "),
        (ClusterUnavailableError("503 from the source"), "task c-0 last failed with: 503 from the source"),
    ],
    ids=["for good", "for now"],
)
def test_a_source_failing_in_its_replay_is_named_beside_the_summary(
    pipeline: Make, plugins: Plugins, monkeypatch: pytest.MonkeyPatch, error: Exception, reported: str
) -> None:
    flow = pipeline(eosfw_identity="value")
    kind = plugins.connector("numbers").task
    poll = kind.poll

    def failing(self: SourceTask) -> Any:
        if self.context.offset(self.partition) is None and self.next == 6:  # type: ignore[attr-defined]
            raise error
        return poll(self)

    done(flow, plugins, Verification.OFF)
    monkeypatch.setattr("eosfw.pipeline.verdicts.task_replay._IDLE_TIMEOUT", 0.1)
    monkeypatch.setattr(kind, "poll", failing)

    assert reported in done(flow, plugins).unverified[0]
