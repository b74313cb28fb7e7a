"""Headers are converted by header converters, or by converters."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from eosfw.config import Choice, ConfigDef
from eosfw.data import INT32, Schema, SchemaAndValue
from eosfw.errors import ConfigError
from eosfw.records import SourceBatch, SourceRecord
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

from ..scripted_task import run, scripted
from ..worker_harness import WorkerHarness, connector_of


class Naming:
    """Writes what it is told of a header."""

    name = "naming"
    config: ClassVar = ConfigDef(Choice("converter.type", "value", "set", among=("key", "value", "header")))

    def configure(self, config: Any) -> None:
        self.kind = config["converter.type"]

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return f"{self.kind} {topic} {name} {schema and schema.type.value} {value}".encode()

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(None, data)


class Same:
    """A converter of the same name."""

    name = "naming"

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return b"by the converter"


class Text(Naming):
    """Makes no bytes."""

    name = "text"

    def from_connect_header(self, *_: Any) -> Any:
        return "text"


HEADERS = (("a", 7), ("b", SchemaAndValue(INT32, 8)), ("c", None))


def headers_by(converter: str, *parts: type[Any], as_columns: bool = False) -> Any:
    one = SourceRecord("t", b"v", None, {"p": "a"}, {"o": 1}, headers=HEADERS)
    polled: Any = SourceBatch("t", [b"v"], {"p": "a"}, {"o": 1}, headers=[HEADERS]) if as_columns else [one]
    stage = run(scripted(polled), parts=parts, header_converter=converter)
    (entry,) = [entry for where, log in stage.cluster.logs.items() if where.topic == "t" for entry in log]
    return [value for _, value in entry.headers]


@pytest.mark.parametrize("as_columns", [False, True], ids=["records", "columns"])
def test_a_header_converter_is_given_topic_name_and_schema(*, as_columns: bool) -> None:
    """PLG-14: it is told that it converts headers."""
    wanted = [b"header t a None 7", b"header t b int32 8", b"header t c None None"]
    assert headers_by("naming", Naming, as_columns=as_columns) == wanted


def test_a_header_converter_comes_before_a_converter_of_its_name() -> None:
    """PLG-14: in every order of their distributions."""
    source = PluginSource("d", "1", "e")
    roles = [("converter", Same), ("header converter", Naming)]
    for order in (roles, roles[::-1]):
        plugins = Plugins([RegisteredPlugin(role, cls, source) for role, cls in order], [])
        assert isinstance(plugins.header_converter("naming"), Naming)
        assert isinstance(plugins.converter("naming"), Same)


def test_a_converter_converts_headers_too() -> None:
    """PLG-14: as the converters of Kafka Connect, which are both."""
    assert headers_by("naming", Same) == [b"by the converter"] * 3
    assert headers_by("org.apache.kafka.connect.storage.StringConverter") == [b"7", b"8", None]


def test_simple_header_converter_is_there() -> None:
    """PLG-14: by its name, and by that of its class in Kafka Connect."""
    for name in ("simple", "org.apache.kafka.connect.storage.SimpleHeaderConverter"):
        assert headers_by(name) == [b"7", b"8", None]


UNKNOWN = r"header\.converter: no header converter 'simpel'; installed: simple, .*json.* Did you mean 'simple'"


def test_an_unknown_header_converter_of_a_connector_is_refused_with_all_that_can_be_chosen() -> None:
    """PLG-14: header converters and converters."""
    with WorkerHarness(connector_of(scripted())) as stage, pytest.raises(ConfigError, match=UNKNOWN):
        stage.put("c", header_converter="simpel")


def test_an_unknown_header_converter_of_a_worker_is_refused_with_all_that_can_be_chosen() -> None:
    """PLG-14: before it starts."""
    stage = WorkerHarness(header_converter="simpel")
    with pytest.raises(ConfigError, match=UNKNOWN):
        stage.worker.start()


def test_a_header_converter_that_makes_no_bytes_fails_the_task() -> None:
    """PLG-14: the message names it."""
    one = SourceRecord("t", b"v", None, {"p": "a"}, {"o": 1}, headers=HEADERS)
    stage = run(scripted([one]), parts=[Text], header_converter="text")
    (task,) = stage.worker.status().tasks
    assert "the header.converter 'text' returned a str, which is not bytes" in str(task.error)


def test_a_header_converter_converts_no_values() -> None:
    """PLG-14: `value.converter` takes converters alone."""
    with (
        WorkerHarness(connector_of(scripted())) as stage,
        pytest.raises(ConfigError, match=r"value\.converter: no converter 'simple'"),
    ):
        stage.put("c", value_converter="simple")


@pytest.mark.parametrize("as_columns", [False, True])
def test_without_header_converter_what_states_a_schema_is_written_as_kafka_connect_does(*, as_columns: bool) -> None:
    """PLG-14: by SimpleHeaderConverter, its default; bytes stay as they are."""
    headers = (("a", b"as given"), ("b", SchemaAndValue(INT32, 8)), ("c", None))
    one = SourceRecord("t", b"v", None, {"p": "a"}, {"o": 1}, headers=headers)
    polled: Any = SourceBatch("t", [b"v"], {"p": "a"}, {"o": 1}, headers=[headers]) if as_columns else [one]

    stage = run(scripted(polled), value_converter="bytes")
    (entry,) = [entry for where, log in stage.cluster.logs.items() if where.topic == "t" for entry in log]

    assert [value for _, value in entry.headers] == [b"as given", b"8", None]
