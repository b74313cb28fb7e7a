"""JSON of values with schemas is Kafka Connect's, byte for byte; by columns it is what each value by itself gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builtin.golden.json_converter_cases import DEFAULTS, FIRST, LAST, NULLABLE, VALUES, WHOLE, Case, cases
from eosfw.builtin.converters.json import JsonConverter
from eosfw.data import (
    BOOLEAN,
    FLOAT64,
    INT64,
    STRING,
    Schema,
    StructColumns,
    decimal,
    fitted,
    fitted_values,
    map_of,
    struct,
)
from eosfw.errors import DataError

ANSWERS = Path(__file__).parent / "golden" / "json_converter.jsonl"


def converter(properties: Mapping[str, str]) -> JsonConverter:
    made = JsonConverter()
    made.configure(JsonConverter.config.parse(properties))
    return made


def test_json_with_schemas_is_byte_for_byte_what_kafka_connect_writes() -> None:
    """CNV-01: all types and logical types, optional, with defaults, in containers, with every property."""
    answers = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    asked = list(cases())
    assert [(case, wanted) for case, wanted in zip(asked, answers, strict=True) if _written(case) != wanted] == []


def _written(case: Case) -> str | dict[str, str] | None:
    try:
        made = converter(case.properties).from_connect_data("t", case.schema, fitted(case.schema, case.value))
    except DataError as why:
        return {"error": str(why)}
    return None if made is None else made.decode()


def test_a_negative_zero_is_written_as_java_has_it() -> None:
    """CNV-01: Java's decimals know none."""
    made = converter({"schemas.enable": "false", "decimal.format": "NUMERIC"})
    assert made.from_connect_data("t", decimal(2), Decimal("-0.00")) == b"0.00"


def test_a_null_that_no_name_can_be_is_refused() -> None:
    """CNV-01: as the key of an object."""
    schema = map_of(STRING.as_optional(), INT64)
    with pytest.raises(DataError, match="a key of a MAP is null"):
        converter({}).from_connect_data("t", schema, {None: 1})


@pytest.mark.parametrize("enabled", ["true", "false"])
@pytest.mark.parametrize(
    ("schema", "rows"),
    [(WHOLE, [FIRST, LAST]), (NULLABLE, [FIRST, {}]), (DEFAULTS, [{}, {}]), (struct({}), [{}]), (VALUES[0][0], [1, 2])],
)
def test_columns_are_written_as_each_value_by_itself(schema: Schema, rows: list[Any], enabled: str) -> None:
    """CNV-02."""
    json_converter = converter({"schemas.enable": enabled})
    values = fitted_values(schema, rows)
    wanted = [json_converter.from_connect_data("t", schema, fitted(schema, one)) for one in rows]
    assert json_converter.from_connect_columns("t", schema, values) == wanted


def test_columns_of_arrow_are_written_as_each_value_by_itself() -> None:
    """CNV-02."""
    schema = struct({"100%": INT64.as_optional(), "text": STRING, "real": FLOAT64, "flag": BOOLEAN})
    rows = [
        {"100%": 1, "text": 'a"b%s', "real": 1e9, "flag": True},
        {"100%": None, "text": "é", "real": 0.1, "flag": False},
    ]
    values = fitted_values(schema, StructColumns.of_arrow(pa.RecordBatch.from_pylist(rows)))
    assert isinstance(values, StructColumns)
    assert values.by_arrow
    json_converter = converter({})
    wanted = [json_converter.from_connect_data("t", schema, one) for one in rows]
    assert json_converter.from_connect_columns("t", schema, values) == wanted
