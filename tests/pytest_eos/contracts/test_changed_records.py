"""Runs and zombies of connectors whose records are dropped, renamed and converted on their way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eosfw import Config, ConfigDef, ExactlyOnceSupport, SourceConnector, SourceRecord, SourceTask, String
from eosfw.data import BYTES, INT64, struct
from pytest_eos.contracts import Source, SourceConnectorContract
from pytest_eos.verdict.committed_offsets import committed_offsets

NUMBERS = 12
CHANGED = {
    "value.converter": "json",
    "value.converter.schemas.enable": "false",
    "header.converter": "string",
    "transforms": "drop,route",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "odd",
    "predicates": "odd",
    "predicates.odd.type": "HasHeaderKey",
    "predicates.odd.name": "odd",
    "transforms.route.type": "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "$1-changed",
}


class CountTask(SourceTask):
    """Mappings with a number; odd ones have a header that says so."""

    def start(self, config: Config, context: Any) -> None:
        self.topic = config["topic"]
        self.next = (context.offset({"from": "one"}) or {"next": 0})["next"]

    def poll(self) -> list[SourceRecord]:
        numbers = range(self.next, min(self.next + 3, NUMBERS))
        self.next = numbers.stop
        return [self._record(number) for number in numbers]

    def _record(self, number: int) -> SourceRecord:
        headers = (("odd", "yes"),) if number % 2 else ()
        return SourceRecord(self.topic, {"n": number}, None, {"from": "one"}, {"next": number + 1}, headers=headers)

    def at_end(self) -> bool:
        return self.next >= NUMBERS


LINE = struct({"n": INT64, "text": BYTES}, name="example.Line")
LEFT_OUT = {
    "transforms": "text,drop",
    "transforms.text.type": "ExtractField$Value",
    "transforms.text.field": "text",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "odd",
    "predicates": "odd",
    "predicates.odd.type": "HasHeaderKey",
    "predicates.odd.name": "odd",
}


class LineTask(CountTask):
    """The same numbers in structs with a schema."""

    def _record(self, number: int) -> SourceRecord:
        given = super()._record(number)
        return replace(given, value={"n": number, "text": b"%d" % number}, value_schema=LINE)


class CountConnector(SourceConnector):
    """Gives mappings, which need a converter."""

    name, task = "mappings", CountTask
    config = ConfigDef(String("topic", doc="topic of the numbers"))

    def task_configs(self, config: Config, max_tasks: int) -> list[dict[str, str]]:
        return [{"topic": config["topic"]}]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


def test_a_run_shows_records_as_they_were_sent(eos):
    """And expects them so: the topic of the properties is never written to."""
    run = eos.run(CountConnector, {"topic": "numbers", **CHANGED})

    eos.assert_exactly_once(run, run.source_records())
    assert [one.value for one in run.records()] == [b'{"n":%d}' % number for number in range(0, NUMBERS, 2)]
    assert all(one.topic == "numbers-changed" for one in run.records())


class LineConnector(CountConnector):
    """Gives structs."""

    name, task = "structs", LineTask


def test_the_offset_of_a_struct_that_is_dropped_commits_with_its_neighbours(eos):
    """SMT-06: of the last record, too, which is a dropped one, so that no run reads it again."""
    properties = {"topic": "lines", "header.converter": "string", **LEFT_OUT}
    even = [b"%d" % number for number in range(0, NUMBERS, 2)]

    run = eos.run(LineConnector, properties)

    eos.assert_exactly_once(run, run.source_records())
    assert [one.value for one in run.records()] == even
    assert [one.offset for one in committed_offsets(run)][-1] == {"next": NUMBERS}
    assert list(eos.run(LineConnector, properties).records()) == []


@pytest.mark.parametrize("converter", ["json", None])
def test_values_are_read_back_by_the_runs_converter(eos, converter):
    """CNV-05: with the schema of the envelope; without a converter they are bytes."""
    connector, more = (LineConnector, {"value.converter": "json"}) if converter else (LineConnector, LEFT_OUT)

    run = eos.run(connector, {"topic": "lines", "header.converter": "string", **more})

    if converter:
        assert run.read_values() == [{"n": number, "text": b"%d" % number} for number in range(NUMBERS)]
    else:
        assert run.read_values() == [b"%d" % number for number in range(0, NUMBERS, 2)]


class WritesAlone:
    """A converter that reads nothing back."""

    name = "json"

    def from_connect_data(self, topic: str, schema: Any, value: Any) -> bytes:
        return b"%d" % value["n"]


def test_a_converter_that_reads_nothing_back_is_named(eos, monkeypatch):
    """CNV-05: rather than bytes that look like values."""
    run = eos.run(CountConnector, {"topic": "numbers", "value.converter": "json", "header.converter": "string"})
    monkeypatch.setattr(type(run.group.local.plugins), "converter", lambda *_: WritesAlone())

    with pytest.raises(TypeError, match=r"value\.converter 'json' reads nothing back: it has no `to_connect_data`"):
        run.read_values()


class TestCount(SourceConnectorContract):
    """A connector whose records need a converter keeps the contract of all connectors."""

    @pytest.fixture
    def source(self):
        return Source(CountConnector, CHANGED)
