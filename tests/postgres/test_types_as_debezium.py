"""Schemas and values of every type beside those that Debezium's connector has written (PGC-30, PGC-31)."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.data import Field, struct
from eosfw.errors import DataError
from eosfw_postgres.types import ColumnType, TypeSettings, catalog_of, column_type
from postgres.golden.answers import answers, as_json, envelope_schema, recorded
from postgres.golden.debezium_cases import MODES, TABLES

MODE_OF = {
    "decimal.handling.mode": "decimal_mode",
    "time.precision.mode": "time_mode",
    "interval.handling.mode": "interval_mode",
    "binary.handling.mode": "binary_mode",
}
CASES = [
    pytest.param(mode, table, id=f"{mode}-{table}")
    for mode, (tables, _) in MODES.items()
    for table in tables
    if table in TABLES
]

# Arrays that Debezium leaves out, because it knows no type of their elements.
LEFT_OUT = {"names", "varbits", "xmls", "points", "moneys", "intervals", "short_texts"}
# Columns in which Debezium's stream has not what the server says.
LOST = {
    "a_name": "null",
    "a_numeric_3_minus_2": "a scale of 2046",
    "bits": "null, with the schema of one bit string",
    "moods": "null if one element is null, as its schema allows no null",
    "tsvectors": "a schema that allows no null",
    "times": "no microseconds",
    "timetzs": "no fractions of seconds",
}
# What Debezium shows as Java writes it, where the text here is the server's.
OPAQUE = {"a_box", "a_circle", "a_line", "a_lseg", "a_path", "a_polygon", "boxes", "pairs", "short_texts"}
# Python's dates and times have no values for them: an error instead.
BEYOND = {"a_date", "a_time", "a_timestamp"}
DIFFERENT = {
    "connect": LOST.keys() - {"a_numeric_3_minus_2", "times"} | BEYOND,
    "unknown": LOST.keys() - {"a_name"} | OPAQUE,
}
ERROR = "DataError"


def settings_of(mode: str) -> TypeSettings:
    properties = MODES[mode][1]
    chosen = {MODE_OF[name]: value for name, value in properties.items() if name in MODE_OF}
    return TypeSettings(**chosen, unknown_types="include.unknown.datatypes" in properties)


def shown(mode: str, table: str) -> dict[str, tuple[Any, list[Any]]]:
    """Of each column that is not left out its schema and its values, as JSON."""
    catalog = catalog_of(answers()["types"])
    described = answers()["tables"][table]
    made = {}
    for at, (name, oid, typmod, *_) in enumerate(described["columns"]):
        kind = column_type(oid, typmod, settings_of(mode), catalog)
        if kind is not None and name != "id":
            texts = [row[at] for row in described["rows"] if int(row[0]) >= 100]
            made[name] = as_written(name, kind, texts)
    return made


def as_written(name: str, kind: ColumnType, texts: list[str | None]) -> tuple[Any, list[Any]]:
    schema = struct([Field(name, kind.schema.as_optional())])
    values = []
    for text in texts:
        try:
            value = kind.parse([text])[0]
        except DataError:
            values.append(ERROR)
        else:
            values.append(as_json(schema, {name: value})["payload"][name])
    return as_json(schema, {name: None})["schema"]["fields"][0], values


def debezium(mode: str, table: str) -> dict[str, tuple[Any, list[Any]]]:
    """The same, as Debezium has streamed it."""
    fields = envelope_schema(mode, table)["fields"][1]["fields"]
    rows = [one[1][1]["after"] for one in recorded(mode, table)[1]]
    streamed = [row for row in rows if row["id"] >= 100]
    return {
        field["field"]: (field, [row[field["field"]] for row in streamed]) for field in fields if field["field"] != "id"
    }


@pytest.mark.parametrize(("mode", "table"), CASES)
def test_columns_have_the_schemas_and_values_that_debezium_gives_them(mode: str, table: str) -> None:
    """PGC-30: schemas and values, column by column, in each mode; the differences are named, and no others exist."""
    ours, theirs = shown(mode, table), debezium(mode, table)
    different = {name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]}

    assert different == DIFFERENT.get(mode, LOST.keys()) & ours.keys() & theirs.keys()
    assert ours.keys() - theirs.keys() == LEFT_OUT & ours.keys() - theirs.keys()
    assert theirs.keys() - ours.keys() == set()


@pytest.mark.parametrize("name", sorted(BEYOND))
def test_what_pythons_dates_cannot_be_is_refused_and_nothing_else_differs(name: str) -> None:
    """PGC-31: with time.precision.mode=connect years from 1 to 9999 are as Debezium's, others an error."""
    (_, ours), (_, theirs) = shown("connect", "scalars")[name], debezium("connect", "scalars")[name]

    assert ERROR in ours
    assert [one for one in zip(ours, theirs, strict=True) if one[0] not in (ERROR, one[1])] == []
