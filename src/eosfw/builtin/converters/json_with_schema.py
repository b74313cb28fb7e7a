"""Values with schemas as JSON, byte for byte as Kafka Connect's JsonConverter writes them."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from eosfw.builtin.connect_json import java_double, text
from eosfw.builtin.java.numbers import decimal_text, float_text
from eosfw.builtin.java.times import logical_number
from eosfw.data import RepeatedValue, Schema, StructColumns, Type, default_of
from eosfw.data.columns import as_list, holds_arrow
from eosfw.data.logical import (
    DATE,
    DECIMAL_NAME,
    TIME,
    TIMESTAMP,
    decimal_bytes,
    decimal_scale,
)
from eosfw.errors import DataError

_MANY, _ENOUGH_TO_IMPORT = 128, 1000
"""So many values are written faster by pyarrow, even if they come in lists; fewer cost more than they save. To import
it, and with it NumPy and pandas, costs as much as some 100,000 values: polls of so many will come to more."""
_REPEATED = frozenset((str, int, bool, type(None)))
Encoder = Callable[[Any], str]
SpecialEncoder = Callable[["JsonForm", Schema], Encoder | None]
_NAMES = {Type.FLOAT32: "float", Type.FLOAT64: "double"}
"""Types whose names in JSON are not those of Connect."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """How a converter writes values: its properties, of which an encoder is made once for each schema."""

    envelope: bool = True
    numeric_decimals: bool = False
    replace_null: bool = True
    special: SpecialEncoder | None = None
    """What writes some schemas, or their nulls, in another way; None for the others."""

    def special_encoder(self, schema: Schema) -> Encoder | None:
        """What writes values of the schema in another way; None if nothing does."""
        return None if self.special is None else self.special(self, schema)


@lru_cache(maxsize=1000)
def encoder_of(form: JsonForm, schema: Schema) -> Encoder:
    """Writes values that fit the schema, in the envelope if the form has one."""
    encode = payload_encoder(form, schema)
    if not form.envelope:
        return encode
    head = schema_head(form, schema)
    return lambda value: f"{head}{encode(value)}}}"


def encoded_columns(form: JsonForm, schema: Schema, values: Sequence[Any]) -> list[bytes | None]:
    """All values; structs that come as columns are written column by column, then joined by rows."""
    is_special = form.special_encoder(schema) is not None
    if not is_special and (holds_arrow(values) or _are_enough_for_pyarrow(len(values))):
        from eosfw.builtin.converters.json_columns import encoded_arrays

        return encoded_arrays(form, schema, values)
    if is_special or not (isinstance(values, StructColumns) and values.columns):
        return [one.encode() for one in map(encoder_of(form, schema), values)]
    row = _row(schema)
    if form.envelope:
        row = f"{schema_head(form, schema).replace('%', '%%')}{row}}}"
    return [(row % one).encode() for one in _rows(form, schema, values)]


def _row(schema: Schema) -> str:
    """How the texts of the fields become an object."""
    return "{" + ",".join(f"{text(name)}:".replace("%", "%%") + "%s" for name in schema.names) + "}"


def _rows(form: JsonForm, schema: Schema, structs: StructColumns) -> Iterable[tuple[str, ...]]:
    """The texts of the fields of each struct."""
    fields = zip(schema.fields, structs.columns.values(), strict=True)
    return zip(*(_texts(form, one.schema, column) for one, column in fields), strict=True)


def _texts(form: JsonForm, schema: Schema, column: Sequence[Any]) -> Iterable[str]:
    """The texts of a column."""
    if isinstance(column, StructColumns) and column.columns and form.special_encoder(schema) is None:
        return map(_row(schema).__mod__, _rows(form, schema, column))
    encode = payload_encoder(form, schema)
    if is_one_value(column):
        return [encode(column[0])] * len(column)
    return map(encode, as_list(column))


def is_one_value(column: Sequence[Any]) -> bool:
    """Whether a column repeats one value, such as the name of its source; a zero may have a sign, so no floats."""
    if isinstance(column, RepeatedValue):
        return len(column) > 0
    if not isinstance(column, list) or not column or column[0] is not column[-1]:
        return False
    return type(column[0]) in _REPEATED and column.count(column[0]) == len(column)


def _are_enough_for_pyarrow(count: int) -> bool:
    return count >= _MANY and ("pyarrow" in sys.modules or (count >= _ENOUGH_TO_IMPORT and _is_installed("pyarrow")))


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


@lru_cache(maxsize=1000)
def schema_head(form: JsonForm, schema: Schema) -> str:
    """The envelope up to its payload, behind which it is closed."""
    return f'{{"schema":{_schema_text(form, schema)},"payload":'


def _schema_text(form: JsonForm, schema: Schema, field: str | None = None) -> str:
    """The schema as JSON, in the order in which Connect writes its parts."""
    return f"{{{','.join(_schema_parts(form, schema, field))}}}"


def _schema_parts(form: JsonForm, schema: Schema, field: str | None) -> Iterator[str]:
    yield f'"type":"{_NAMES.get(schema.type, schema.type.value)}"'
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        yield f'"items":{_schema_text(form, schema.value_schema)}'
    if schema.key_schema is not None and schema.value_schema is not None:
        yield f'"keys":{_schema_text(form, schema.key_schema)},"values":{_schema_text(form, schema.value_schema)}'
    if schema.type is Type.STRUCT:
        yield f'"fields":[{",".join(_schema_text(form, one.schema, one.name) for one in schema.fields)}]'
    yield f'"optional":{"true" if schema.optional else "false"}'
    if schema.name is not None:
        yield f'"name":{text(schema.name)}'
    if schema.version is not None:
        yield f'"version":{schema.version}'
    if schema.doc is not None:
        yield f'"doc":{text(schema.doc)}'
    if schema.parameters:
        members = (f"{text(name)}:{text(value)}" for name, value in schema.parameters.items())
        yield f'"parameters":{{{",".join(members)}}}'
    if schema.default is not None:
        yield f'"default":{payload_encoder(form, schema)(default_of(schema))}'
    if field is not None:
        yield f'"field":{text(field)}'


@lru_cache(maxsize=1000)
def payload_encoder(form: JsonForm, schema: Schema) -> Encoder:
    """Writes values that fit the schema, or null."""
    special = form.special_encoder(schema)
    if special is not None:
        return special
    encode = _of_type(form, schema)
    null: str | None = "null" if schema.optional else None
    if schema.default is not None and form.replace_null:
        null = encode(default_of(schema))

    def encode_or_null(value: Any) -> str:
        if value is not None:
            return encode(value)
        if null is None:
            raise DataError("Conversion error: null value for field that is required and has no default value")
        return null

    return encode_or_null


def _of_type(form: JsonForm, schema: Schema) -> Encoder:
    if schema.name == DECIMAL_NAME and schema.type is Type.BYTES:
        return _decimal(form, schema)
    if (schema.type, schema.name) in LOGICAL_NUMBERS:
        return lambda value: str(logical_number(value))
    make = _CONTAINERS.get(schema.type)
    return _PRIMITIVE[schema.type] if make is None else make(form, schema)


def _decimal(form: JsonForm, schema: Schema) -> Encoder:
    scale = decimal_scale(schema)
    return decimal_text if form.numeric_decimals else lambda value: _bytes(decimal_bytes(value, scale))


def _bytes(value: bytes) -> str:
    return f'"{b64encode(value).decode()}"'


def _string(value: str) -> str:
    # What Python escapes as Jackson does is written in C.
    return encode_basestring(value) if value.isascii() and value.isprintable() else text(value)


def _boolean(value: Any) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    return java_double(value) if isfinite(value) else f'"{java_double(value)}"'


def _float(value: float) -> str:
    return float_text(value) if isfinite(value) else f'"{java_double(value)}"'


def _array(form: JsonForm, schema: Schema) -> Encoder:
    encode = payload_encoder(form, _part(schema.value_schema))
    return lambda value: f"[{','.join(map(encode, value))}]"


def _map(form: JsonForm, schema: Schema) -> Encoder:
    keys, values = _part(schema.key_schema), _part(schema.value_schema)
    encode_key, encode = payload_encoder(form, keys), payload_encoder(form, values)
    if keys.type is Type.STRING:
        return lambda value: f"{{{','.join(f'{_name(key)}:{encode(one)}' for key, one in value.items())}}}"
    return lambda value: f"[{','.join(f'[{encode_key(key)},{encode(one)}]' for key, one in value.items())}]"


def _name(key: str | None) -> str:
    if key is None:
        raise DataError("a key of a MAP is null, which no name in JSON can be")
    return _string(key)


def _struct(form: JsonForm, schema: Schema) -> Encoder:
    fields = [(f"{text(one.name)}:", one.name, payload_encoder(form, one.schema)) for one in schema.fields]
    return lambda value: f"{{{','.join([head + encode(value[name]) for head, name, encode in fields])}}}"


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema


_PRIMITIVE: Mapping[Type, Encoder] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), str),
    Type.FLOAT32: _float,
    Type.FLOAT64: _double,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
}
LOGICAL_NUMBERS = frozenset((one.type, one.name) for one in (DATE, TIME, TIMESTAMP))
"""Type and name of the logical types that stand for a whole number."""
_CONTAINERS: Mapping[Type, Callable[[JsonForm, Schema], Encoder]] = {
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}
