"""The converter to JSON, byte for byte as Kafka Connect's, and from JSON."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from json import JSONEncoder
from math import isfinite
from typing import Any, ClassVar

from eosfw.builtin.connect_json import LONG, java_double, text
from eosfw.builtin.converters.json_reading import parse_json, read_envelope, read_value
from eosfw.builtin.converters.json_with_schema import JsonForm, encoded_columns, encoder_of
from eosfw.config import Boolean, Choice, Config, ConfigDef, Int
from eosfw.data import Schema, SchemaAndValue
from eosfw.errors import DataError
from eosfw.text import type_name

_PLAIN = frozenset((str, int, bool, type(None)))
_ENCODE = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_TEXT = frozenset((str,))
_BEYOND = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
"""Half characters, and those that Jackson writes as two escapes."""
_CONSTANTS = {None: "null", True: "true", False: "false"}
_DEEPEST = 200
"""Levels of nesting; Jackson refuses more than 1000."""


class JsonConverter:
    """Writes JSON (Kafka Connect's `JsonConverter`): with `schemas.enable` in its envelope, beside the schema.

    Values without a schema are mappings, lists, text, numbers, booleans, None and bytes (as Base64); the schema in
    their envelope is null.
    """

    name: ClassVar[str] = "json"
    aliases: ClassVar = ("org.apache.kafka.connect.json.JsonConverter", "JsonConverter")
    config: ClassVar = ConfigDef(
        Boolean("schemas.enable", True, 'true: write {"schema":...,"payload":...}; false: the payload alone'),
        Int("schemas.cache.size", 1000, "accepted for Kafka Connect's sake: the last 1000 are kept", at_least=0),
        Choice(
            "decimal.format",
            "BASE64",
            "how a Decimal is written: the bytes of its unscaled number, or a number",
            among=("BASE64", "NUMERIC"),
        ),
        Boolean("replace.null.with.default", True, "write the default of a field in the place of a null"),
    )

    def configure(self, config: Config) -> None:
        self._form = JsonForm(
            config["schemas.enable"], config["decimal.format"] == "NUMERIC", config["replace.null.with.default"]
        )

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None:
            return encoder_of(self._form, schema)(value).encode()
        if value is None:
            return None
        written = _flat(value) or _node(value, ())
        return (f'{{"schema":null,"payload":{written}}}' if self._form.envelope else written).encode()

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        if schema is None:
            return [self.from_connect_data(topic, None, one) for one in values]
        return encoded_columns(self._form, schema, values)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        document = parse_json(data)
        try:
            if self._form.envelope:
                return read_envelope(document, replace_null=self._form.replace_null)
            return SchemaAndValue(None, read_value(document))
        except RecursionError:
            raise DataError("it is nested too deeply") from None


def _flat(value: Any) -> str | None:
    """An object of texts, whole numbers and booleans, written in C; None if Python might write it otherwise."""
    if type(value) is not dict or not _PLAIN.issuperset(map(type, members := value.values())):
        return None
    if not _TEXT.issuperset(map(type, value)) or any(type(one) is int and one.bit_length() > 63 for one in members):
        return None
    written = _ENCODE(value)
    # Jackson writes other hexadecimal digits in escapes, and escapes more.
    if "\\u00" in written or not (written.isascii() or _BEYOND.search(written) is None):
        return None
    return written


def _node(value: Any, path: tuple[object, ...]) -> str:
    if isinstance(value, str):
        return _text(value, path)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, (int, float)):
        return _number(value, path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f'"{b64encode(value).decode()}"'
    return _container(value, path)


def _number(value: Any, path: tuple[object, ...]) -> str:
    if isinstance(value, float):  # JSON has no number for what is infinite or none: Jackson writes a text
        return java_double(value) if isfinite(value) else f'"{java_double(value)}"'
    if int(value) not in LONG:
        raise DataError(f"{_place(path)} is a number beyond 64 bits")
    return str(int(value))


def _container(value: Any, path: tuple[object, ...]) -> str:
    if len(path) > _DEEPEST:
        raise DataError(f"it is nested more than {_DEEPEST} levels deep")
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_node(one, (*path, at)) for at, one in enumerate(value))}]"
    if not isinstance(value, Mapping):
        raise DataError(
            f"{_place(path)} is a {type_name(value)}; without a schema JsonConverter takes mappings, lists, text, "
            "numbers, booleans, None and bytes"
        )
    if all(isinstance(key, str) for key in value):
        return f"{{{','.join(f'{_text(key, path)}:{_node(one, (*path, key))}' for key, one in value.items())}}}"
    return f"[{','.join(_pairs(value, path))}]"


def _pairs(value: Mapping[Any, Any], path: tuple[object, ...]) -> Iterator[str]:
    """A mapping whose names are not all texts, as Connect writes it."""
    for key, one in value.items():
        yield f"[{_node(key, (*path, key))},{_node(one, (*path, key))}]"


def _text(value: str, path: tuple[object, ...]) -> str:
    try:
        return text(value)
    except ValueError as why:
        raise DataError(f"{_place(path)}: {why}") from None


def _place(path: tuple[object, ...]) -> str:
    """Where a value is, such as `field 'lines.0.price'`."""
    return f"field {'.'.join(map(str, path))!r}" if path else "it"
