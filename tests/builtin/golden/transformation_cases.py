"""Records for each transformation and predicate of Kafka Connect, in the notation of `kafka_connect.java`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

PACKAGE = "org.apache.kafka.connect.transforms."
_DATA = "org.apache.kafka.connect.data."
Node = Mapping[str, Any]
_MOMENT = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z
_DAY = 1_699_920_000_000

INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES = (
    {"type": one} for one in ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "bytes")
)
DECIMAL = {"type": "bytes", "name": f"{_DATA}Decimal", "version": 1, "parameters": {"scale": "2"}}
DATE = {"type": "int32", "name": f"{_DATA}Date", "version": 1}
TIME = {"type": "int32", "name": f"{_DATA}Time", "version": 1}
TIMESTAMP = {"type": "int64", "name": f"{_DATA}Timestamp", "version": 1}


def _optional(schema: Node, **more: Any) -> Node:
    return {**schema, "optional": True, **more}


def _struct(fields: Iterable[tuple[str, Node]], **more: Any) -> Node:
    return {"type": "struct", **more, "fields": [{"name": name, "schema": schema} for name, schema in fields]}


def _named(tag: str, pairs: Iterable[tuple[str, Any]]) -> Node:
    return {tag: [[name if tag == "struct" else {"string": name}, value] for name, value in pairs]}


def _whole(schema: Node | None, value: Any) -> Node:
    """A record whose key and value are the same, so that a case may be about each."""
    parts = {"key_schema": schema, "key": value, "value_schema": schema, "value": value}
    return {"topic": "orders", **{name: one for name, one in parts.items() if one is not None}}


_FLAT = (
    ("id", INT64, {"int64": 7}),
    ("i8", INT8, {"int8": -8}),
    ("i16", INT16, {"int16": 300}),
    ("i32", INT32, {"int32": 70000}),
    ("f32", FLOAT32, {"float32": "1.1"}),
    ("f64", FLOAT64, {"float64": "-2.75"}),
    ("flag", BOOLEAN, {"boolean": True}),
    ("text", STRING, {"string": "12"}),
    ("raw", BYTES, {"bytes": "AQL/"}),
    ("price", DECIMAL, {"decimal": "12.30"}),
    ("day", DATE, {"date": _DAY}),
    ("clock", TIME, {"date": 80_000_123}),
    ("at", TIMESTAMP, {"date": _MOMENT}),
    ("note", _optional(STRING), None),
    ("count", _optional(INT32, default={"int32": 42}, doc="how many"), None),
    ("tags", {"type": "array", "values": STRING}, {"array": [{"string": "a"}, {"string": "b"}]}),
)
_ADDRESS = (("city", STRING, {"string": "Oslo"}), ("zip", _optional(INT32, default={"int32": 150}), None))
_INNER = _struct((name, schema) for name, schema, _ in _ADDRESS)
_ADDRESS_VALUE = _named("struct", ((name, value) for name, _, value in _ADDRESS))
_NESTED = (
    ("id", INT32, {"int32": 1}),
    ("address", _INNER, _ADDRESS_VALUE),
    ("other", {**_INNER, "optional": True, "name": "example.Address"}, None),
    (
        "a.b",
        _struct([("c", STRING), ("d.e", INT32)]),
        _named("struct", [("c", {"string": "x"}), ("d.e", {"int32": 2})]),
    ),
    ("list", {"type": "array", "values": _INNER}, {"array": [_ADDRESS_VALUE]}),
)
_ATTRIBUTES = {"type": "map", "keys": STRING, "values": INT32}
_ATTRIBUTES_VALUE = {"map": [[{"string": "k"}, {"int32": 1}]]}


def _typed(fields: Iterable[tuple[str, Node, Any]], **more: Any) -> Node:
    fields = tuple(fields)
    schema = _struct(((name, one) for name, one, _ in fields), **more)
    return _whole(schema, _named("struct", ((name, value) for name, _, value in fields)))


def _untyped(pairs: Mapping[str, Any]) -> Node:
    return _whole(None, _named("map", pairs.items()))


FLAT = _typed(_FLAT, name="example.Order", version=2, doc="an order", parameters={"k": "v"})
OPTIONAL = _typed(_FLAT[:2], name="example.Order", optional=True)
WITH_DEFAULT = _typed(_FLAT[:1], optional=True, default=_named("struct", [("id", {"int64": 5})]))
NESTED = _typed(_NESTED, name="example.Nested")
WITH_MAP = _typed([("id", INT32, {"int32": 1}), ("attributes", _ATTRIBUTES, _ATTRIBUTES_VALUE)])
PLAIN_FLAT = _untyped(
    {
        "id": {"int64": 7},
        "f64": {"float64": "-2.75"},
        "flag": {"boolean": True},
        "text": {"string": "12"},
        "raw": {"bytes": "AQL/"},
        "note": None,
        "tags": {"array": [{"string": "a"}]},
        "price": {"decimal": "12.30"},
        "at": {"date": _MOMENT},
        "attributes": {"map": [[{"string": "k"}, {"int64": 1}]]},
    }
)
PLAIN_NESTED = _untyped(
    {
        "id": {"int64": 1},
        "address": _named("map", {"city": {"string": "Oslo"}, "zip": None}.items()),
        "other": None,
        "a.b": _named("map", {"c": {"string": "x"}, "d.e": {"int64": 2}}.items()),
        "list": {"array": [_named("map", {"city": {"string": "Oslo"}}.items())]},
    }
)
EMPTY, NULL = _untyped({}), _whole(None, None)
TYPED_NULL = _whole(_optional(_struct([("id", INT64), ("note", _optional(STRING))])), None)
TEXT, TYPED_TEXT = _whole(None, {"string": "word"}), _whole(STRING, {"string": "word"})
TYPED_NUMBER = _whole(INT32, {"int32": 5})
TYPED_MAP = _whole(_ATTRIBUTES, _ATTRIBUTES_VALUE)
TYPED_LIST = _whole({"type": "array", "values": INT32, "doc": "numbers"}, {"array": [{"int32": 1}]})
SHAPES = (FLAT, OPTIONAL, WITH_DEFAULT, NESTED, PLAIN_FLAT, PLAIN_NESTED, EMPTY, NULL, TYPED_NULL, TEXT, TYPED_TEXT,
          TYPED_NUMBER, TYPED_MAP)  # fmt: skip
_KEPT = {"replace.null.with.default": "false"}
_HEADERS = [
    ["a", STRING, {"string": "1"}],
    ["b", INT32, {"int32": 2}],
    ["a", None, {"string": "3"}],
    ["c", _optional(STRING), None],
]


def questions() -> list[dict[str, Any]]:
    """Every question, in one order for ever: the recorded answers have no other name."""
    return [
        *_of_cast(),
        *_of_fields(),
        *_of_structure(),
        *_of_headers(),
        *_of_metadata(),
        *_of_timestamps(),
        *_of_predicates(),
        *_of_nulls(),
        *_of_literals(),
        *_of_zones(),
        *_of_defaults(),
        *_without_schema(),
    ]


def _without_schema() -> Iterator[dict[str, Any]]:
    """Records that differ in their metadata as well, for what routes and predicates look at."""
    lines = Path(__file__).with_name("records_without_schema.jsonl").read_text(encoding="utf-8").splitlines()
    yield from map(json.loads, lines)


def _transform(kind: str, properties: Node, record: Node) -> dict[str, Any]:
    return {"operation": "transform", "class": PACKAGE + kind, "properties": dict(properties), "record": dict(record)}


def _both(kind: str, properties: Iterable[Node], records: Iterable[Node]) -> Iterator[dict[str, Any]]:
    """Of the value always, of the key with the first record: key and value are treated alike."""
    records = tuple(records)
    for one in properties:
        for record in records:
            yield _transform(f"{kind}$Value", one, record)
        yield _transform(f"{kind}$Key", one, records[0])


_SIMPLE = (
    *(({"type": f"int{8 * len_}"}, {f"int{8 * len_}": one}) for len_ in (1, 2, 4, 8) for one in (0, -1, 127)),
    (INT16, {"int16": 200}),
    (INT32, {"int32": -2147483648}),
    (INT64, {"int64": 9223372036854775807}),
    (INT64, {"int64": -4294967297}),
    (INT64, {"int64": 16777217}),
    *((FLOAT32, {"float32": one}) for one in ("0.1", "-0.0", "3.4028235E38", "NaN", "200.7", "1.0E10", "16777216")),
    *((FLOAT64, {"float64": one}) for one in ("0.1", "1.0E300", "-Infinity", "-1.5", "9.3E18")),
    *((FLOAT64, {"float64": one}) for one in ("4.9E-324", "128", "0.9")),
    (BOOLEAN, {"boolean": True}),
    (BOOLEAN, {"boolean": False}),
    *(
        (STRING, {"string": one})
        for one in ("0", "+7", "-128", "128", " 1", "1_0", "1.5", "1e3", "0x10", "NaN", "Infinity", "true", "TRUE",
                    "yes", "", "١٢", "1d", "0x1p3", "9223372036854775808", ".5", "5.", " 2.5 ", "1e400",
                    "3.5e38")
    ),
    (BYTES, {"bytes": "AQL/"}),
    (DATE, {"date": _DAY}),
    (TIME, {"date": 80_000_123}),
    (TIMESTAMP, {"date": _MOMENT}),
    (TIMESTAMP, {"date": -1}),
    (DECIMAL, {"decimal": "12.30"}),
    (DECIMAL, {"decimal": "-300.99"}),
    ({**DECIMAL, "parameters": {"scale": "-2"}}, {"decimal": "1.2E+3"}),
    ({**INT32, "name": "my.Name", "version": 3, "doc": "d"}, {"int32": 5}),
    (_optional(INT32, default={"int32": 3}), {"int32": 5}),
    (_optional(STRING, default={"string": "4"}), {"string": "5"}),
)  # fmt: skip
_TARGETS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_UNTYPED_TAGS = frozenset(("int64", "float64", "boolean", "string", "bytes", "decimal", "date"))
"""What Python's values without schema have a counterpart for in Java: an `int` is a `Long`."""


def _of_cast() -> Iterator[dict[str, Any]]:
    for (schema, value), target in product(_SIMPLE, _TARGETS):
        yield _transform("Cast$Value", {"spec": target}, {"value_schema": schema, "value": value})
        if set(value) <= _UNTYPED_TAGS:
            yield _transform("Cast$Value", {"spec": target}, {"value": value})
    fields = (
        {"spec": "id:int8,i8:string,f64:int32,text:float32,count:int64"},
        {"spec": "day:int64, at:int64,clock : STRING,raw:string,price:string", **_KEPT},
        {"spec": "note:boolean,missing:string,count:string", **_KEPT},
        {"spec": "text:int8", "replace.null.with.default": "true"},
    )
    yield from _both("Cast", fields, SHAPES)
    yield from _both("Cast", [{"spec": "tags:string"}, {"spec": "attributes:string"}], [FLAT, WITH_MAP, PLAIN_FLAT])
    yield from _both("Cast", [{"spec": "string"}], [TYPED_LIST, TYPED_MAP, FLAT, PLAIN_FLAT, NULL, TYPED_NULL])
    for spec in (
        "",
        "id:",
        "id:int8:x",
        "id:word",
        "word",
        "id:array",
        "bytes",
        "int8,id:int8",
        "int8,int16",
        ":int8",
        ",",
    ):
        yield _transform("Cast$Value", {"spec": spec}, FLAT)
    yield _transform("Cast$Value", {}, FLAT)
    yield _transform("Cast$Value", {"spec": "int8", "replace.null.with.default": "maybe"}, FLAT)


def _of_fields() -> Iterator[dict[str, Any]]:
    replaced = (
        {"exclude": "raw,tags,missing"},
        {"include": "text,id,count"},
        {"include": "id,text", "exclude": "text", "renames": "id:key,text:t"},
        {"renames": "id:text2,count:c", **_KEPT},
        {"renames": "id:number , a.b:ab"},
        {},
    )
    yield from _both("ReplaceField", replaced, SHAPES)
    for renames in ("id", "id:a:b", "id:", ":a", "a:b,c"):
        yield _transform("ReplaceField$Value", {"renames": renames}, FLAT)
    yield _transform("ReplaceField$Value", {"renames": "id:text"}, FLAT)

    masked = (
        {"fields": "id,i8,i16,i32,f32,f64,flag,text,price,day,at,clock,tags,count,note"},
        {"fields": "id,i8,text", "replacement": "7"},
        {"fields": "f64,f32", "replacement": "1.5", **_KEPT},
        {"fields": "missing"},
        {"fields": "count", **_KEPT},
    )
    yield from _both("MaskField", masked, SHAPES)
    for name, replacement in product(("id", "i8", "f32", "price", "text", "flag", "at", "raw", "tags", "attributes"),
                                     (None, "300", "x", "1e2")):  # fmt: skip
        given = {"fields": name, **({} if replacement is None else {"replacement": replacement})}
        yield from (_transform("MaskField$Value", given, record) for record in (FLAT, WITH_MAP, PLAIN_FLAT))
    for wrong in ({}, {"fields": ""}, {"fields": "id", "replacement": ""}):
        yield _transform("MaskField$Value", wrong, FLAT)

    inserted = (
        {"topic.field": "topic", "partition.field": "p", "timestamp.field": "ts"},
        {"topic.field": "topic!", "static.field": "s", "static.value": "fixed", **_KEPT},
        {"partition.field": "p!"},
        {"timestamp.field": "ts?", "static.field": "id2!", "static.value": ""},
    )
    stamped = ({**one, "partition": 3, "timestamp": _MOMENT} for one in (FLAT, PLAIN_FLAT))
    yield from _both("InsertField", inserted, [*SHAPES, *stamped])
    yield _transform("InsertField$Value", {"topic.field": "id"}, FLAT)
    yield _transform("InsertField$Value", {"offset.field": "o"}, FLAT)
    yield _transform("InsertField$Value", {}, FLAT)


def _of_structure() -> Iterator[dict[str, Any]]:
    extracted = (
        *({"field": one} for one in ("id", "count", "note", "missing", "a.b", "address")),
        {"field": "count", **_KEPT},
    )
    yield from _both("ExtractField", extracted, SHAPES)
    paths = ("id", "address.city", "address.zip", "other.city", "`a.b`.c", "`a.b`.`d.e`", "missing.city",
             "address.missing", "a.b", "id.city", "list.city", "address.", ".address", "`address`.city", "addr`ess",
             "list", "")  # fmt: skip
    for path in paths:
        given = {"field": path, "field.syntax.version": "v2"}
        yield from _both("ExtractField", [given], [NESTED, PLAIN_NESTED, NULL, TYPED_NULL])
    yield _transform("ExtractField$Value", {"field": "address.zip", "field.syntax.version": "V2", **_KEPT}, NESTED)
    for wrong in ("`a", "`a\\`", "a.`b", "`a`b.c"):
        yield _transform("ExtractField$Value", {"field": wrong, "field.syntax.version": "V2"}, NESTED)
    yield _transform("ExtractField$Value", {"field": "id", "field.syntax.version": "V3"}, NESTED)
    yield _transform("ExtractField$Value", {}, NESTED)

    yield from _both("HoistField", [{"field": "whole"}], [*SHAPES, TYPED_LIST])
    yield _transform("HoistField$Value", {}, FLAT)

    yield from _both("Flatten", [{}, {"delimiter": "_"}, {"delimiter": ""}], [NESTED, WITH_MAP, *SHAPES])
    deep = _struct([("b", _optional(INT32)), ("c", _struct([("d", INT32)]))], optional=True)
    yield _transform("Flatten$Value", {}, _typed([("a", deep, None), ("e", INT32, {"int32": 1})]))
    with_default = {**_INNER, "optional": True, "default": _ADDRESS_VALUE}
    yield _transform("Flatten$Value", {}, _typed([("a", with_default, None), ("e", INT32, {"int32": 1})]))
    twice = [("a", _struct([("b", INT32)]), _named("struct", [("b", {"int32": 1})])), ("a.b", INT32, {"int32": 2})]
    yield _transform("Flatten$Value", {}, _typed(twice))

    keys = (
        {"fields": "id"},
        {"fields": "count,id"},
        {"fields": "count", **_KEPT},
        {"fields": "missing"},
        {"fields": ""},
        {},
    )
    for given, record in product(keys, SHAPES):
        yield _transform("ValueToKey", given, record)


def _of_headers() -> Iterator[dict[str, Any]]:
    for names in ("a", "c,b", "missing", "", "a , b"):
        yield _transform("DropHeaders", {"headers": names}, {**TYPED_NUMBER, "headers": _HEADERS})
    yield _transform("DropHeaders", {}, TYPED_NUMBER)
    yield _transform("DropHeaders", {"headers": "a"}, TYPED_NUMBER)

    literals = ("text", "", " ", "12", "-1", "+5", "300", "70000", "5000000000", "99999999999999999999", "1.5", "1e3",
                "1.0", "3.5e38", "1e400", "0.1", "true", "false", "True", "null", "2023-11-14", "22:13:20.123Z",
                "2023-11-14T22:13:20.123Z", "[1,2,3]", "[1, 300, 70000]", "[1,2.5]", "[]", "[null]", '[1,"a"]', "[1,",
                '["a","b"]', '{"a":1,"b":2}', "{}", '{"a":null}', '{"a":[1,2]}', "{1:2}", "true}", "a b", "12 ", "1-2",
                '"quoted"', "1:2", "[true,false]", '{"a":1', "[2023-11-14]", "a\\:b", "0010", "-0", "1_0",
                "٣")  # fmt: skip
    for literal in literals:
        yield _transform("InsertHeader", {"header": "h", "value.literal": literal}, {"headers": _HEADERS[:1]})
    for wrong in ({"header": "h"}, {"value.literal": "x"}):
        yield _transform("InsertHeader", wrong, TYPED_NUMBER)

    moved = (
        {"fields": "id,count", "headers": "h1,h2", "operation": "move"},
        {"fields": "count,id", "headers": "h1,h1", "operation": "copy", **_KEPT},
        {"fields": "missing", "headers": "h", "operation": "copy"},
        {"fields": "address", "headers": "h", "operation": "move"},
    )
    yield from _both("HeaderFrom", moved, [{**one, "headers": _HEADERS[:2]} for one in SHAPES])
    wrong = (
        {"fields": "id", "headers": "a,b", "operation": "move"},
        {"fields": "id", "headers": "a", "operation": "drop"},
        {"fields": "", "headers": "", "operation": "copy"},
        {"headers": "a", "operation": "copy"},
        {"fields": "id", "headers": "a"},
    )
    for one in wrong:
        yield _transform("HeaderFrom$Value", one, FLAT)


def _of_metadata() -> Iterator[dict[str, Any]]:
    given = (
        {"schema.name": "new.Name"},
        {"schema.version": "9"},
        {"schema.name": "new.Name", "schema.version": "-1", **_KEPT},
        {},
        {"schema.version": "x"},
    )
    yield from _both("SetSchemaMetadata", given, [*SHAPES, TYPED_LIST])
    for topic, (regex, replacement) in product(
        ("orders", "orders-eu", "", "a.b"),
        (("(.*)-eu", "eu.$1"), ("orders", "\\$x"), ("(?<n>[a-z]+)", "${n}.v"), ("(", "x"), ("(.*)", "$2")),
    ):
        record = {**TYPED_NUMBER, "topic": topic}
        yield _transform("RegexRouter", {"regex": regex, "replacement": replacement}, record)
    # The first match may be shorter than the topic, which matches as a whole.
    for regex, replacement in (("or|orders", "x"), ("(.*?)s?", "<$1>"), ("(o|ord)(.*?)", "$2-$1"), ("x*|.*", "new.")):
        record = {**TYPED_NUMBER, "topic": "orders"}
        yield _transform("RegexRouter", {"regex": regex, "replacement": replacement}, record)
    for wrong in ({"regex": "x"}, {"replacement": "x"}):
        yield _transform("RegexRouter", wrong, TYPED_NUMBER)
    routed = ({}, {"topic.format": "x"}, {"timestamp.format": "yyyy'T'HH", "topic.format": "${timestamp}"})
    stamped = (FLAT, {**FLAT, "timestamp": _MOMENT}, {**TYPED_NULL, "timestamp": 0})
    for given, record in product(routed, stamped):
        yield _transform("TimestampRouter", given, record)
    yield from (_transform("Filter", {}, one) for one in (FLAT, NULL))


_PATTERNS = (
    "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "yyyy-MM-dd",
    "yyyyMMddHHmmss",
    "dd MMM yyyy",
    "HH:mm",
    "yy/M/d h:mm a",
    "EEE, d MMMM yyyy",
)
_TEXTS = ("2023-11-14T22:13:20.123", "2023-11-14", "20231114221320", "14 Nov 2023", "22:13", "23/1/2 3:04 PM",
          "Tue, 14 November 2023", "2023-13-45", "word", "", "2023-11-14 and more", "1969-12-31T23:59:59.5",
          "2099-1-1")  # fmt: skip


def _of_timestamps() -> Iterator[dict[str, Any]]:
    moments = (
        (TIMESTAMP, {"date": _MOMENT}),
        (TIMESTAMP, {"date": -1}),
        (_optional(TIMESTAMP), None),
        (DATE, {"date": _DAY}),
        (TIME, {"date": 80_000_123}),
        (INT64, {"int64": _MOMENT}),
        (INT64, {"int64": -1500}),
        (_optional(INT64, default={"int64": 0}), {"int64": 1_700_000_000}),
        (STRING, {"string": "2023-11-14"}),
        (INT32, {"int32": 5}),
        (FLOAT64, {"float64": "1.5"}),
        (BOOLEAN, {"boolean": True}),
    )
    targets = ("string", "unix", "Date", "Time", "Timestamp")
    for (schema, value), target in product(moments, targets):
        given = {"target.type": target, "format": "yyyy-MM-dd"}
        yield _transform("TimestampConverter$Value", given, _whole(schema, value))
        if schema in (TIMESTAMP, INT64, STRING, FLOAT64, BOOLEAN):
            yield _transform("TimestampConverter$Value", given, _whole(None, value))
    units = ("seconds", "milliseconds", "microseconds", "nanoseconds")
    for unit, number, target in product(
        units, (0, 1_700_000_000, 1_700_000_000_123_456, -1, -1_500_001), ("unix", "Timestamp")
    ):
        if unit != "seconds" or number < 10**12:  # beyond the year 9999, which Python's calendar ends with
            if unit == "milliseconds" and number > 10**14:
                continue
            given = {"target.type": target, "unix.precision": unit}
            yield _transform("TimestampConverter$Value", given, _whole(INT64, {"int64": number}))
    for unit, moment in product(units, (_MOMENT, -1)):
        given = {"target.type": "unix", "unix.precision": unit}
        yield _transform("TimestampConverter$Value", given, _whole(TIMESTAMP, {"date": moment}))
    for pattern in _PATTERNS:
        for moment in (_MOMENT, 0, -1, 1_709_164_800_000):
            given = {"target.type": "string", "format": pattern}
            yield _transform("TimestampConverter$Value", given, _whole(TIMESTAMP, {"date": moment}))
        for text in _TEXTS:
            given = {"target.type": "Timestamp", "format": pattern}
            yield _transform("TimestampConverter$Value", given, _whole(STRING, {"string": text}))
    fields = (
        {"field": "at", "target.type": "unix"},
        {"field": "at", "target.type": "string", "format": "yyyy-MM-dd HH:mm"},
        {"field": "id", "target.type": "Timestamp", **_KEPT},
        {"field": "note", "target.type": "unix", "format": "yyyy"},
        {"field": "i32", "target.type": "unix"},
        {"field": "missing", "target.type": "Date"},
    )
    yield from _both("TimestampConverter", fields, SHAPES)
    wrong = (
        {},
        {"target.type": "date"},
        {"target.type": "string"},
        {"target.type": "string", "format": " "},
        {"target.type": "string", "format": "b"},
        {"target.type": "string", "format": "yyyy'"},
        {"target.type": "unix", "unix.precision": "hours"},
    )
    yield from (_transform("TimestampConverter$Value", one, FLAT) for one in wrong)


def _of_predicates() -> Iterator[dict[str, Any]]:
    asked = (
        ("HasHeaderKey", [{"name": "a"}, {"name": "A"}, {"name": ""}, {}]),
        ("RecordIsTombstone", [{}]),
        ("TopicNameMatches", [{"pattern": "ord.*"}, {"pattern": "ord"}, {"pattern": "("}, {"pattern": ""}, {}]),
    )
    records = (FLAT, TYPED_NULL, NULL, {**TYPED_NUMBER, "headers": _HEADERS})
    for kind, properties in asked:
        for given, record in product(properties, records):
            whole = _transform(f"predicates.{kind}", given, record)
            yield {**whole, "operation": "predicate"}


def _of_nulls() -> Iterator[dict[str, Any]]:
    """Nulls have no type, but their schemas do."""
    kinds = (
        INT64,
        STRING,
        TIMESTAMP,
        DATE,
        INT32,
        FLOAT32,
        BOOLEAN,
        BYTES,
        DECIMAL,
        TYPED_LIST["value_schema"],
        _INNER,
    )
    for kind in kinds:
        record = _typed([("at", _optional(kind), None), ("id", INT32, {"int32": 1})])
        yield _transform("TimestampConverter$Value", {"field": "at", "target.type": "unix"}, record)
    for kind in kinds[:-1]:
        record = _whole(_optional(kind), None)
        yield _transform("TimestampConverter$Value", {"field": "at", "target.type": "Date"}, record)
    empty = _whole(_optional(_struct([("at", _optional(BOOLEAN))])), None)
    yield _transform("TimestampConverter$Value", {"field": "at", "target.type": "Date"}, empty)


def _of_defaults() -> Iterator[dict[str, Any]]:
    """A struct that is null has a default, and its field has one, too."""
    inner = {**_INNER, "optional": True, "default": _ADDRESS_VALUE}
    record = _typed([("a", inner, None), ("b", {**_INNER, "optional": True}, None)])
    for path, more in product(("a.city", "a.zip", "b.zip", "a"), ({}, _KEPT)):
        given = {"field": path, "field.syntax.version": "V2", **more}
        yield from _both("ExtractField", [given], [record])


def _of_literals() -> Iterator[dict[str, Any]]:
    """Arrays and maps that hold empty ones."""
    for literal in ("[1,[]]", "[[],1]", "[1.5,{}]", "[{},true]", '["x",[]]', "[[1],{}]", "[{},[1,2]]",
                    "[2023-11-14,{}]", "[null,1]", '{"k":1,"l":[]}'):  # fmt: skip
        yield _transform("InsertHeader", {"header": "h", "value.literal": literal}, {})


def _zones() -> Iterator[tuple[str, str]]:
    """Offsets of time zones, of which each letter reads one form."""
    for letters in ("X", "XX", "XXX", "Z", "z"):
        for zone in ("Z", " Z", "+0530", "-05:30", "+01", "+1", " +0100", "+24:00", "+2360", "UTC", " UTC", "GMT",
                     "GMT+1", "GMT+1:00", "gmt-01:30", "GMT+0100", "UTC+01:00"):  # fmt: skip
            yield f"HH:mm{letters}", f"22:13{zone}"


def _of_zones() -> Iterator[dict[str, Any]]:
    """Numbers that are longer or larger than their field, next to what is no number."""
    for pattern, text in (
        ("HH:mm:ss.SXXX", "22:13:20.123Z"),
        ("mZ", "13+0130"),
        ("yMMMdd", "2023Nov14"),
        ("h.ma", "10.13PM"),
        ("yyyy zzzz", "2023 Coordinated Universal Time"),
        ("yyyy-MM-dd hh:mm", "2023-11-14 15:30"),
        ("hh a", "15 PM"),
        ("kk:mm", "24:10"),
        ("kk:mm", "25:10"),
        ("HH:mmXXXX", "22:13Z"),
        *_zones(),
    ):
        given = {"target.type": "Timestamp", "format": pattern}
        yield _transform("TimestampConverter$Value", given, _whole(STRING, {"string": text}))
