"""Schemas and values that Confluent's JsonSchemaData was asked to write and to read; see `record_json_schema.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from builtin.golden.json_converter_cases import CONTAINERS, SAID, VALUES, Case
from eosfw.data import BYTES, DATE, FLOAT64, INT8, INT32, INT64, STRING, Schema, Type, array, decimal, map_of, struct

PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"decimal.format": "NUMERIC"},
    {"ignore.default.for.nullables": "true"},
    {"object.additional.properties": "false", "use.optional.for.nonrequired": "true"},
)
_JSON = "io.confluent.connect.json."
COLOR = Schema(Type.STRING, parameters={f"{_JSON}Enum": "", f"{_JSON}Enum.red": "red", f"{_JSON}Enum.<NULL>": "<NULL>"})
INNER = struct({"a": INT8, "b": STRING}, name="Inner")
OTHER = struct({"c": INT8, "b": STRING, "d": STRING}, name="Other")
UNION = struct(
    {
        f"{_JSON}OneOf.field.{at}": schema.as_optional()
        for at, schema in enumerate((INT32, STRING, INNER, OTHER, array(INT64)))
    },
    name=f"{_JSON}OneOf",
)


def chosen(at: int, value: Any) -> dict[str, Any]:
    """A union with one of its fields."""
    return {**dict.fromkeys(UNION.names), f"{_JSON}OneOf.field.{at}": value}


OWN: tuple[tuple[Schema, tuple[Any, ...]], ...] = (
    (COLOR, ("red",)),
    (replace(COLOR, name="Color", doc="d", parameters={**COLOR.parameters, "own": "x"}), ("red",)),
    (UNION, (chosen(0, 7), chosen(1, "x"), chosen(2, {"a": 1, "b": "y"}), chosen(4, [1]))),
    (UNION, (chosen(3, {"c": 1, "b": "z", "d": "z"}),)),
    (struct({"u": UNION.as_optional()}), ({"u": None}, {"u": chosen(1, "x")})),
    (struct({"a": replace(INT32, default=3), "b": INT32}), ({"a": None, "b": 1}, {"a": 4, "b": 1})),
    (array(replace(INT32, default=3)), ([None, 1],)),
    (map_of(STRING, replace(INT32, default=3)), ({"a": None},)),
    (map_of(INT32, INNER), ({1: {"a": 1, "b": "x"}},)),
    (replace(map_of(DATE, BYTES), name="m", doc="d"), ({},)),
    (array(INNER.as_optional()), ([None, {"a": 1, "b": "x"}],)),
    (struct({"x": replace(INNER, optional=True, doc="d", version=2, default={"a": 1, "b": "q"})}), ({"x": None},)),
    (replace(array(decimal(1)), default=[]), ([],)),
)
READ: tuple[tuple[Any, Any], ...] = (
    ({"type": ["null", "integer"]}, None),
    ({"type": ["null", "integer"]}, 5),
    ({"anyOf": [{"type": "number"}, {"type": "null"}]}, 0.5),
    ({"oneOf": [{"type": "string"}]}, "x"),
    ({"type": "string", "const": "x"}, "x"),
    ({"const": "x"}, "x"),
    ({"type": "string", "enum": ["red", "blue"]}, "red"),
    ({"type": "integer", "enum": [1, 2]}, 1),
    ({"type": "integer", "const": 1}, 1),
    ({"enum": ["red", None]}, "red"),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "x"),
    ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1, "more": 2}),
    ({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": 1}),
    ({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}, {}),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
    ({"type": "array", "items": {"type": "number"}}, [1, 0.5]),
    ({"definitions": {"d": {"type": "boolean"}}, "type": "object", "properties": {"a": {"$ref": "#/definitions/d"}}},
     {"a": True}),
    ({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "string"}}}]}, {"a": 1, "b": "x"}),
    ({"allOf": [{"$ref": "#/definitions/d"}], "definitions": {"d": {"type": "boolean"}}}, True),
    ({"type": "object", "additionalProperties": {"type": "integer"}, "connect.type": "map"}, {"a": 1}),
    ({"type": "integer", "title": "t", "description": "d", "connect.version": 3, "connect.parameters": {"a": "b"}}, 7),
    ({"type": "string", "format": "date"}, "2020-01-01"),
    ({"type": "string", "minLength": 1}, "x"),
    ({"type": "integer", "minimum": 1}, 2),
    ({"minimum": 1}, 2),
    ({"minLength": 1}, "x"),
    ({"type": "number", "connect.type": "float32"}, 0.1),
    ({"type": "null"}, None),
    ({"type": "array"}, []),
    ({"type": "integer", "connect.type": "int7"}, 1),
    (True, 1),
)  # fmt: skip
"""JSON Schemas of others, with what each describes."""


def cases() -> Iterator[Case]:
    """All of them, in the order of the recorded answers."""
    for properties in PROPERTIES:
        for schema, values in (*VALUES, *CONTAINERS, *OWN):
            yield from (Case(properties, schema, value) for value in values)
            yield Case(properties, schema.as_optional(), None)
        for schema, values in VALUES:
            yield Case(properties, replace(schema, default=values[0]), None)
            yield Case(properties, replace(schema, default=values[0], optional=True), values[-1])
    samples = (7, "a", {"x": 1, "y": None}, [3], {"b": 2})
    yield from (Case({}, schema, value) for schema, value in zip(SAID, samples, strict=True))
    yield Case({}, struct({"f": FLOAT64}), None)
