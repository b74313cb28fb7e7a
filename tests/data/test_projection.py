"""Projection of values to another schema (Kafka Connect's `SchemaProjectorTest`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eosfw.data import FLOAT64, INT8, INT32, INT64, STRING, Schema, array, decimal, map_of, project, struct
from eosfw.errors import DataError

OLD = struct({"id": INT32, "gone": STRING}, name="s")
NEW = struct({"id": INT64, "added": replace(INT32, default=7), "maybe": STRING.as_optional()}, name="s")


@pytest.mark.parametrize(
    ("source", "value", "target", "wanted"),
    [
        (INT8, 3, INT64, 3),
        (INT8, 3, FLOAT64, 3.0),
        (INT32, 3, INT32.as_optional(), 3),
        (INT32.as_optional(), None, replace(INT32, default=9), 9),
        (INT32.as_optional(), None, INT64.as_optional(), None),
        (OLD, {"id": 1, "gone": "x"}, NEW, {"id": 1, "added": 7, "maybe": None}),
        (array(INT8), [1, 2], array(FLOAT64), [1.0, 2.0]),
        (map_of(INT8, OLD), {1: {"id": 1, "gone": ""}}, map_of(INT32, NEW), {1: {"id": 1, "added": 7, "maybe": None}}),
    ],
)
def test_a_value_is_projected_to_a_compatible_schema(source: Schema, value: Any, target: Schema, wanted: Any) -> None:
    """SCH-06."""
    assert project(source, value, target) == wanted


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        (INT64, INT32, "Schema type mismatch. source type: INT64 and target type: INT32"),
        (STRING, INT32, "Schema type mismatch. source type: STRING and target type: INT32"),
        (decimal(1), decimal(2), "Schema parameters not equal."),
        (struct({}, name="a"), struct({}, name="b"), "Schema name mismatch. source name: a and target name: b"),
        (
            INT32.as_optional(),
            INT32,
            "Writer schema is optional, however, target schema does not provide a default value.",
        ),
        (struct({}), struct({"a": INT32}), "Required field `a` is missing from source schema"),
    ],
)
def test_schemas_that_are_not_compatible_are_refused_in_connects_words(
    source: Schema, target: Schema, text: str
) -> None:
    """SCH-06."""
    with pytest.raises(DataError) as refused:
        project(source, {} if source.fields == () else None, target)
    assert str(refused.value).startswith(text)
