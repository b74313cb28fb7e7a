"""What Kafka Connect's converters and header converters were asked to write and to read; see `record_converters.py`."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builtin.golden.json_converter_cases import CONTAINERS, TEXT, VALUES, cases
from eosfw.data import FLOAT32, INT64, STRING, Schema, Type, fitted, struct
from kafka_connect.notation import shown_schema, shown_value

PACKAGE = "org.apache.kafka.connect."
SIMPLE = f"{PACKAGE}storage.SimpleHeaderConverter"
STRINGS = f"{PACKAGE}storage.StringConverter"
JSON = f"{PACKAGE}json.JsonConverter"
TEXTS = (
    *("", " ", "null", "true", "true ", "tru", "7", "-7", "+7", "128", "99999999999999999999", "1.5", "-0.0", "1e400"),
    *("NaN", "2026-11-25", "2026-13-45", "01:02:03.456Z", "2026-11-25T01:02:03.456Z", "abc", "a:b", TEXT),
    *(
        "[]",
        "[1,2]",
        "[1, 300]",
        '["a","b"]',
        "[1,,2]",
        "[1",
        "[null]",
        "[true,1]",
        '[1,"a"]',
        "[[1],[2]]",
        '["a\\"b"]',
    ),
    *(
        "{}",
        '{"a":1}',
        '{"a":1,"b":2.5}',
        '{"a":null}',
        "{1:2}",
        '{"a"',
        "{a}",
        '{"a":[1,2]}',
        '{"a":{"b":true}}',
        '"a"',
    ),
    *('["2026-11-25"]', '{"t":"01:02:03.456Z"}', "]", "}", ",", ":", "\\", '"', "[\\", "é€😀"),
)
"""Headers that are read."""
NO_TEXT = (b"\xff", b"a\xc3", b"\xe2\x82", b"\xf0\x9f\x98x")
DOCUMENTS = (
    *(
        "1",
        "1.5",
        "1e2",
        "-0.0",
        "true",
        "null",
        '"a"',
        "[]",
        '[1,"a",null]',
        '{"a":{"b":[1.25]}}',
        '{"a":1,"a":2}',
        " 1 ",
    ),
    *("", "{", "nul", "[1,]", "NaN", '{"schema":null}', '{"schema":null,"payload":null}'),
)
ENVELOPES: Sequence[tuple[Any, Any]] = (
    *((None, one) for one in (1, 1.5, "a", True, None, [1], {"a": {"b": 2}})),
    *(({"type": "int32"}, one) for one in (7, None)),
    ({"type": "int32", "optional": True}, None),
    ({"type": "int32", "default": 5}, None),
    ({"type": "int32", "optional": True, "default": 5}, None),
    ({"type": "int32", "optional": "yes", "name": 1, "version": "1", "doc": 2, "parameters": []}, 7),
    ({"type": "int64", "parameters": {"a": 1}}, 7),
    *(({"type": one}, 7) for one in (None, "int", 5)),
    *(({}, 1), ([], 1), ({"type": "array"}, []), ({"type": "map"}, {}), ({"type": "struct"}, {})),
    ({"type": "map", "keys": {"type": "string"}}, {}),
    ({"type": "struct", "fields": [{"type": "int32"}]}, {}),
    ({"type": "struct", "fields": [{"type": "int32", "field": "a"}]}, {"a": 1, "b": 2}),
    ({"type": "struct", "fields": [{"type": "int32", "field": "a"}]}, {}),
    ({"type": "struct", "fields": [{"type": "int32", "field": "a"}]}, [1]),
    ({"type": "struct", "fields": [{"type": "int32", "field": "a", "optional": True}]}, {}),
    ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, [["a", 1]]),
    *(
        ({"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}, one)
        for one in ({"a": 1}, [1], [[1]], [[1, 2]])
    ),
    ({"type": "bytes"}, "%%"),
    ({"type": "float"}, 3),
    *(({"type": "int32", "name": f"{PACKAGE}data.Date"}, one) for one in (1, "a", 1.5)),
    *(({"type": "int32", "name": f"{PACKAGE}data.Time"}, one) for one in (1, -1, 90_000_000, "a")),
    *(({"type": "int64", "name": f"{PACKAGE}data.Timestamp"}, one) for one in (1, -1, "a")),
    *(
        ({"type": "bytes", "name": f"{PACKAGE}data.Decimal", "parameters": {"scale": "2"}}, one)
        for one in (1.25, "AQ==", True)
    ),
    ({"type": "bytes", "name": f"{PACKAGE}data.Decimal"}, "AQ=="),
)
"""Schemas and payloads that are read, with `schemas.enable`."""
ENCODINGS: Mapping[str, tuple[Sequence[str], Sequence[bytes]]] = {
    "UTF-16": (("", "a", "é€😀"), (b"\xfe\xff\0a", b"\xff\xfea\0", b"\0a", b"", b"\xfe\xff", b"\0a\0")),
    "UTF-16LE": (("", "é€😀"), (b"a\0",)),
    "UTF-16BE": (("", "é€😀"), (b"\0a",)),
    "UTF-32": (("", "é€😀"), (b"\0\0\xfe\xff\0\0\0a", b"\xff\xfe\0\0a\0\0\0", b"\0\0\0a")),
    "ISO-8859-1": (("", "é\x80"), (b"\xe9\x80",)),
    "US-ASCII": (("a",), (b"a\xe9",)),
    "windows-1252": (("é€",), (b"\xe9\x80",)),
}
"""Texts that an encoding has, and bytes."""
BYTES = (b"", b"\0", b"\1", b"\2", *(bytes(range(200, 200 + length)) for length in (2, 3, 4, 5, 8, 9)))
_KINDS = {
    SIMPLE: "header converter",
    **{
        f"{PACKAGE}converters.{one}Converter": "converter"
        for one in ("Boolean", "Short", "Integer", "Long", "Float", "Double")
    },
    STRINGS: "converter",
    f"{PACKAGE}converters.ByteArrayConverter": "converter",
    JSON: "converter",
}
_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_OF_NUMBERS = {Type.INT64: f"{PACKAGE}converters.LongConverter", Type.FLOAT64: f"{PACKAGE}converters.DoubleConverter"}
"""Without schema, numbers of Python are the widest ones of Java."""
POINT = struct({"x": FLOAT32, "n": INT64.as_optional(), 'q"': STRING}, name="Point")


def questions() -> list[dict[str, Any]]:
    """All of them, in the order of the recorded answers."""
    return [*_written(), *_read(), *_encoded(), *_without_schema()]


def _written() -> Iterator[dict[str, Any]]:
    for name, kind in _KINDS.items():
        if name == JSON:
            continue  # `json_converter.jsonl` has them
        operation = "from_connect_header" if kind == "header converter" else "from_connect_data"
        for schema, values in VALUES:
            if name == STRINGS and (schema.type is Type.BYTES or schema.name is not None):
                continue  # of bytes Java writes the address, of moments a text in the zone of the machine
            for value in values:
                yield _question(operation, name, schema, value)
                if schema.type not in _NUMBERS or name == _OF_NUMBERS.get(schema.type):
                    yield {**_question(operation, name, schema, value), "schema": None}
            yield _question(operation, name, schema.as_optional(), None)
        yield _question(operation, name, None, None)
    for schema, values in (*CONTAINERS, (POINT, ({"x": 0.1, "n": None, 'q"': 'a"b\\'},))):
        for value in values:
            yield _question("from_connect_header", SIMPLE, schema, value)


def _question(operation: str, name: str, schema: Schema | None, value: Any) -> dict[str, Any]:
    given = value if schema is None else fitted(schema, value)
    shown = {"schema": shown_schema(schema), "value": shown_value(schema, given)}
    return {"operation": operation, "class": name, "properties": {}, **shown}


def _read() -> Iterator[dict[str, Any]]:
    for text in (*map(str.encode, TEXTS), *NO_TEXT):
        yield _of_bytes("to_connect_header", SIMPLE, text)
        yield _of_bytes("to_connect_data", STRINGS, text)
    for name in _KINDS:
        if name not in (SIMPLE, JSON):
            yield from (_of_bytes("to_connect_data", name, one) for one in BYTES)
        yield _of_bytes("to_connect_header" if name == SIMPLE else "to_connect_data", name, None)
    for document in DOCUMENTS:
        for enabled in ("true", "false"):
            yield _of_bytes("to_connect_data", JSON, document.encode(), {"schemas.enable": enabled})
    for schema, payload in ENVELOPES:
        for replaced in ("true", "false"):
            document = json.dumps({"schema": schema, "payload": payload}).encode()
            yield _of_bytes("to_connect_data", JSON, document, {"replace.null.with.default": replaced})
    for line, case in zip(_json_answers(), cases(), strict=True):
        if isinstance(json.loads(line), str):
            yield _of_bytes("to_connect_data", JSON, json.loads(line).encode(), case.properties)


def _encoded() -> Iterator[dict[str, Any]]:
    for encoding, (texts, read) in ENCODINGS.items():
        properties = {"converter.encoding": encoding}
        for text in texts:
            yield {**_question("from_connect_data", STRINGS, STRING, text), "properties": properties}
        yield from (_of_bytes("to_connect_data", STRINGS, one, properties) for one in read)


def _without_schema() -> Iterator[dict[str, Any]]:
    lines = Path(__file__).with_name("values_without_schema.jsonl").read_text(encoding="utf-8").splitlines()
    yield from map(json.loads, lines)


def _json_answers() -> list[str]:
    return Path(__file__).with_name("json_converter.jsonl").read_text(encoding="utf-8").splitlines()


def _of_bytes(
    operation: str, name: str, data: bytes | None, properties: Mapping[str, str] | None = None
) -> dict[str, Any]:
    text = None if data is None else b64encode(data).decode()
    return {"operation": operation, "class": name, "properties": properties or {}, "bytes": text}
