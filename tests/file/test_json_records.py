"""JSON Lines with a schema: values of it, as JsonConverter reads them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from eosfw.data import INT64, STRING, struct
from eosfw.errors import ConfigError, DamagedDataError
from eosfw_file import FileSourceConnector

from .task_harness import start

ORDERS = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "note", "type": "string", "optional": True},
    ],
}
LOGICAL = {
    "type": "struct",
    "fields": [
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date", "optional": True},
        {
            "field": "price",
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "2"},
            "optional": True,
        },
        {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": True},
    ],
}


def write(tmp_path, *lines):
    (tmp_path / "a.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return tmp_path / "a.jsonl"


def begin(file, schema=ORDERS, **properties):
    return start(file, format="jsonl", value_schema=json.dumps(schema), **properties)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"id": 1, "note": "x"}', {"id": 1, "note": "x"}),
        (b'{"note": null, "id": -5}\r', {"id": -5, "note": None}),
        (b'{"id": 9223372036854775807, "more": [1]}', {"id": 2**63 - 1, "note": None}),
    ],
)
@pytest.mark.parametrize("blank", [[], [b""]], ids=["plain", "blank lines"])
def test_a_line_is_a_value_of_the_schema(tmp_path, line, value, blank):
    """FIL-10: what is missing is null, what the schema has not is left out."""
    (batch,) = begin(write(tmp_path, line, *blank)).polls()

    assert list(batch.values) == [value]
    assert batch.value_schema == struct({"id": INT64, "note": STRING.as_optional()})


def test_logical_types_are_read_as_jsonconverter_writes_them(tmp_path):
    """FIL-10."""
    file = write(tmp_path, b'{"at": 1000, "day": 1, "price": "AM4=", "tags": ["a"]}', b'{"at": 0, "price": 2.06}')

    (batch,) = begin(file, LOGICAL).polls()

    assert list(batch.values) == [
        {
            "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "day": date(1970, 1, 2),
            "price": Decimal("2.06"),
            "tags": ["a"],
        },
        {"at": datetime(1970, 1, 1, tzinfo=UTC), "day": None, "price": Decimal("2.06"), "tags": None},
    ]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{secret", "not JSON"),
        (b"[1]", "Structs should be encoded as JSON objects"),
        (b'{"note": "secret"}', "field 'id': Invalid null value for required INT64 field"),
        (b'{"id": "secret"}', "field 'id'"),
        (b'{"id": 1.5}', "field 'id'"),
        (b'{"id": 9223372036854775808}', "field 'id'"),
        (b'{"id": true}', "field 'id'"),
        (b'{"id": NaN}', "not JSON"),
        (b'{"id": 1, "note": "\xff"}', "not JSON"),
    ],
)
def test_a_line_that_does_not_fit_fails_the_task_naming_line_and_field(tmp_path, line, what):
    """FIL-10: without its value, and behind the lines before it; or it is counted and skipped."""
    file = write(tmp_path, b'{"id": 1}', b'{"id": 2}', line, b'{"id": 4}')
    driven = begin(file)

    assert [row["id"] for row in driven.task.poll().values] == [1, 2]
    with pytest.raises(DamagedDataError, match=rf"a.jsonl, line 3: .*{what}") as raised:
        driven.task.poll()
    assert "secret" not in str(raised.value)

    skipping = begin(file, malformed="skip")
    assert [row["id"] for batch in skipping.polls() for row in batch.values] == [1, 2, 4]
    assert len(skipping.context.notices) == 1


def test_a_task_goes_on_behind_any_line(tmp_path):
    """FIL-10."""
    file = write(tmp_path, *(b'{"id": %d}' % number for number in range(20)))
    batches = begin(file, record_offsets=True, batch_size="6").polls()
    offsets = [offset for batch in batches for offset in batch.source_offsets]

    for at, offset in enumerate(offsets):
        rest = begin(file, offsets={str(file): offset}).polls()
        assert [row["id"] for batch in rest for row in batch.values] == list(range(at + 1, 20))


def test_the_schema_may_stand_in_a_file(tmp_path):
    """FIL-10."""
    (tmp_path / "schema.json").write_text(json.dumps(ORDERS))

    (batch,) = start(
        write(tmp_path, b'{"id": 1}'), format="jsonl", value_schema_file=str(tmp_path / "schema.json")
    ).polls()

    assert batch.value_schema == struct({"id": INT64, "note": STRING.as_optional()})


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({"value.schema": "{"}, "value.schema: this is no schema as JsonConverter writes it"),
        ({"value.schema": '{"type": "int128"}'}, "Unknown schema type: int128"),
        ({"value.schema": '{"type": "struct"}'}, "fields"),
        ({"value.schema.file": "{0}/missing"}, "value.schema.file: {0}/missing cannot be read: No such file"),
        ({"value.schema": "{{}}", "value.schema.file": "x"}, "remove one of them"),
        ({"value.schema": "{{}}", "format": "csv"}, "has no meaning with format = csv"),
    ],
)
def test_schemas_that_cannot_be_meant_are_refused(tmp_path, properties, what):
    """FIL-04."""
    file = write(tmp_path, b"{}")
    given = {name: value.replace("{0}", str(tmp_path)) for name, value in properties.items()}
    config = FileSourceConnector.config.parse({"file": str(file), "topic": "t", "format": "jsonl", **given})

    (problem,) = FileSourceConnector().problems(config)

    assert what.replace("{0}", str(tmp_path)) in str(problem)
    with pytest.raises(ConfigError):
        raise ConfigError(problem)
