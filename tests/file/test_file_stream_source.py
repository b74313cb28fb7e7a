"""Kafka's own name for the file connector gives what Kafka's does: strings with a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eosfw.registry import load_plugins
from eosfw_file import FileStreamSourceConnector
from pytest_eos import EosHarness

LINES = b'one\n\xc3\xa4 "two"\n\xff\n'
JSON = {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
TRANSFORMS = {
    "transforms": "line,source,key",
    "transforms.line.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.line.field": "line",
    "transforms.source.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.source.static.field": "source",
    "transforms.source.static.value": "file",
    "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
    "transforms.key.fields": "line",
}


@pytest.fixture
def values(eos: EosHarness, tmp_path: Path) -> Any:
    """Runs the connector over the lines; the keys and values that it wrote."""

    def run(**properties: str) -> list[tuple[bytes | None, bytes | None]]:
        (tmp_path / "lines.txt").write_bytes(LINES)
        found = eos.run(FileStreamSourceConnector, {"file": tmp_path / "lines.txt", **properties})
        eos.assert_exactly_once(found, expected=found.source_records())
        return [(one.key, one.value) for one in found.records()]

    return run


def struct(*fields: str) -> str:
    return f'{{"type":"struct","fields":[{",".join(fields)}],"optional":false}}'


LINE = '{"type":"string","optional":false,"field":"line"}'
SOURCE = '{"type":"string","optional":true,"field":"source"}'


@pytest.mark.parametrize("converter", [{}, {"value.converter": "string"}, {"value.converter": "StringConverter"}])
def test_lines_are_sent_as_they_stand_in_the_file(values: Any, converter: dict[str, str]) -> None:
    """SCH-10: without a converter, and as text."""
    assert values(**converter) == [(None, line) for line in LINES.splitlines()]


def test_lines_in_another_encoding_are_read(values: Any) -> None:
    """SCH-10."""
    text = LINES.decode(errors="replace")

    written = values(**{"value.converter": "string", "value.converter.converter.encoding": "utf-16-be"})

    assert written == [(None, line.encode("utf-16-be")) for line in text.splitlines()]


def test_lines_become_json_as_kafka_connects_file_source_has_them(values: Any) -> None:
    """SCH-11: the take-over test compares with Kafka Connect itself."""
    texts = [json.dumps(line.decode(errors="replace"), ensure_ascii=False) for line in LINES.splitlines()]
    keys = [f'{{"schema":{struct(LINE)},"payload":{{"line":{one}}}}}' for one in texts]
    wanted = [f'{{"schema":{struct(LINE, SOURCE)},"payload":{{"line":{one},"source":"file"}}}}' for one in texts]

    assert values(**JSON, **TRANSFORMS) == list(zip(map(str.encode, keys), map(str.encode, wanted), strict=True))


def test_properties_of_kafkas_file_source_work_unchanged() -> None:
    for name in (FileStreamSourceConnector.name, *FileStreamSourceConnector.aliases):
        assert type(load_plugins().connector(name)) is FileStreamSourceConnector
