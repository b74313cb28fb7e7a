"""The verdict, and whoever reads a source, expects records as transformations and converters leave them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.data import Schema
from eosfw.pipeline import LocalRun, Options, Pipeline, RunControl, SilentReporter, Summary, Verification, run
from eosfw.pipeline.definition.validation import topic_problems
from eosfw.pipeline.verdicts.replay import replay_records
from eosfw.pipeline.verdicts.source_reader import source_records
from eosfw.protocols import Step, StepInput
from eosfw.records import ProducerBatch, ProducerRecord, SourceRecord
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

Make = Callable[..., Pipeline]


class Multiple:
    """Chooses the multiples of 5."""

    name = "multiple"

    def test(self, record: SourceRecord) -> bool:
        return json.loads(record.value)["n"] % 5 == 0


class MultipleColumns(Multiple):
    name = "multiple columns"

    def test_batch(self, batch: ProducerBatch) -> list[bool]:
        return [json.loads(value or b"")["n"] % 5 == 0 for value in batch.values]


class Refusing:
    """Converts everything but the multiples of 4."""

    name = "refusing"

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes:
        if json.loads(value)["n"] % 4 == 0:
            raise ValueError("a multiple of 4")
        return bytes(value)


@pytest.fixture
def known(plugins: Plugins) -> Plugins:
    """The plugins of these tests."""
    parts = [("predicate", Multiple), ("predicate", MultipleColumns), ("converter", Refusing)]
    mine = [RegisteredPlugin(role, cls, PluginSource("test", "1", "test")) for role, cls in parts]
    return Plugins((*plugins._found, *mine), ())


def changed(predicate: str = "multiple") -> dict[str, str]:
    """Multiples of 5 are filtered, multiples of 4 refused, the others renamed: 1, 2, 3, 6, 7, 9 of 10 are left."""
    return {
        "transforms": "drop,route",
        "transforms.drop.type": "Filter",
        "transforms.drop.predicate": "five",
        "predicates": "five",
        "predicates.five.type": predicate,
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "$1-changed",
        "value.converter": "refusing",
        "errors.tolerance": "all",
    }


def with_changes(pipeline: Make, predicate: str = "multiple", **properties: str) -> Pipeline:
    made = pipeline(**properties)
    made.connectors["c"].update(changed(predicate))
    return made


def done(pipeline: Pipeline, plugins: Plugins) -> Summary:
    options = Options(verify=Verification.TRY)
    return run(pipeline, plugins, RunControl(ThreadRuntime()), SilentReporter(), options)


@pytest.mark.parametrize("predicate", ["multiple", "multiple columns"])
@pytest.mark.parametrize(("identity", "columns"), [("value", "yes"), ("field:n", "no"), ("headers", "no")])
def test_records_that_were_dropped_or_changed_are_not_missing(
    pipeline: Make, known: Plugins, identity: str, predicate: str, columns: str
) -> None:
    """TXN-04: nor when a second run goes on behind dropped ones."""
    given = {"eosfw_identity": identity, "columns": columns}
    first = done(with_changes(pipeline, predicate, **given), known)
    second = done(with_changes(pipeline, predicate, **given, records="25"), known)

    assert (first.records, first.duplicates, first.missing, list(first.unverified)) == (6, 0, 0, [])
    assert (second.records, second.duplicates, second.missing) == (9, 0, 0)


def test_a_duplicate_of_a_changed_record_is_found(pipeline: Make, known: Plugins) -> None:
    """The topics that are read are those of the changed records."""
    made = with_changes(pipeline, eosfw_identity="value")
    done(made, known)
    with LocalRun(made, known, ThreadRuntime()) as local:
        producer = local.backend.producer(None)
        producer.send(ProducerRecord(made.connectors["c"]["topic"] + "-changed", b'{"n":7}'))
        producer.flush(10)
        producer.close()

    again = done(made, known)

    assert (again.duplicates, again.missing) == (1, 0)


def test_a_replay_gives_records_as_they_were_sent(pipeline: Make, known: Plugins) -> None:
    """With the source offset of each, as `pytest-eos` expects them."""
    made = with_changes(pipeline)
    done(made, known)
    with LocalRun(made, known, ThreadRuntime()) as local:
        found = [record for chunk in replay_records(local, "c") for record in chunk]
        with closing(local.backend.admin()) as admin:
            topics = admin.partitions()

    topic = made.connectors["c"]["topic"]
    assert [(record.topic, record.value) for record in found] == [
        (f"{topic}-changed", b'{"n":%d}' % n) for n in (1, 2, 3, 6, 7, 9)
    ]
    assert [record.source_offset["next"] for record in found] == [1, 2, 3, 6, 7, 9]
    assert topic not in topics


def test_a_source_is_read_as_a_run_would_send_it(known: Plugins) -> None:
    """`eosfw read` shows no record that a transformation drops."""
    given = {"connector.class": "numbers", "topic": "t", "records": "10", **changed()}
    records = list(source_records(known, "c", given, ThreadRuntime(), lambda _: None))

    assert [record.value for record in records] == [b'{"n":%d}' % n for n in (1, 2, 3, 6, 7, 9)]


def test_a_source_is_read_with_the_converters_of_its_worker(known: Plugins) -> None:
    """As the pipeline file says that holds both."""
    given = {"connector.class": "numbers", "topic": "t", "records": "1"}
    worker = {"group.id": "g", "value.converter": "json", "value.converter.schemas.enable": "false"}
    records = source_records(known, "c", given, ThreadRuntime(), lambda _: None, worker_properties=worker)

    assert [record.value for record in records] == [b'"eyJuIjoxfQ=="']


def test_a_step_may_read_a_topic_that_a_transformation_names(pipeline: Make) -> None:
    """Which topics those are only the run can tell; without transformations a misspelt one is found before."""
    step = Step("count", [StepInput("found", "elsewhere")], "out")
    admin: Any = SimpleNamespace(partitions=dict)

    assert topic_problems(replace(with_changes(pipeline), steps=[step]), admin) == []
    (problem,) = topic_problems(replace(pipeline(), steps=[step]), admin)
    assert "reads topic 'elsewhere', which does not exist and no connector or step writes" in problem.what


def test_the_summary_says_how_many_records_were_dropped_as_failures(pipeline: Make, known: Plugins) -> None:
    summary = done(with_changes(pipeline, eosfw_identity="value"), known)

    (notice,) = summary.notices
    assert "dropped records; of the first, value.converter 'refusing' failed for a record" in notice
    assert notice.endswith("(2)")
