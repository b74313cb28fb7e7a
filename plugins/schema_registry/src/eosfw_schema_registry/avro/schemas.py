"""The Avro schemas of Kafka Connect's schemas, as Confluent's `AvroData` makes them.

A schema of Avro is the object that its JSON stands for, with each named type whole wherever it is used; `schema_text`
writes each of them once.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, Final
from urllib.parse import quote_plus

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    days_of,
    decimal_bytes,
    decimal_scale,
    default_of,
    millis_of_day,
    millis_since_1970,
)
from eosfw.errors import DataError
from eosfw_schema_registry.avro.form import (
    DECIMAL,
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    KEY,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    VALUE,
    AvroForm,
    fixed_size,
    is_union,
)

Avro = Any
"""A dict with `type`, or the list of the members of a union."""
_PLAIN: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {DATE.name: "date", TIME.name: "time-millis", TIMESTAMP.name: "timestamp-millis", DECIMAL: "decimal"}
_NAMED: Final = ("record", "enum", "fixed")
_TYPE_NAMES: Final = (
    *_NAMED,
    "array",
    "map",
    "union",
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
)
_NULL: Final = {"type": "null"}
_NAME: Final = re.compile(r"[^\W\d]\w*")
_SCRUBBED: Final = re.compile("[^A-Za-z0-9_]")


def avro_schema(form: AvroForm, schema: Schema) -> Avro:
    """The Avro schema of a schema; DataError for a name that Avro does not allow."""
    return _Translation(form).schema(schema)


def schema_text(avro: Avro) -> str:
    """The JSON of an Avro schema, as Java writes it: each named type in full where it comes first."""
    return json.dumps(_written(avro, None, {}), ensure_ascii=False, separators=(",", ":"))


class _Translation:
    """What is known while one schema is translated."""

    def __init__(self, form: AvroForm) -> None:
        self._form = form
        self._known: dict[Schema, Avro] = {}
        """A type that is used twice is the same type."""
        self._seen: set[str] = set()
        self._unnamed = 0

    def schema(self, schema: Schema, *, ignore_optional: bool = False) -> Avro:
        """The Avro schema, a union with null if the schema is optional and that is not to be ignored."""
        if not schema.optional and not is_union(schema) and schema in self._known:
            return self._known[schema]
        made = self._base(schema)
        if isinstance(made, dict):
            self._add_metadata(schema, made)
            if schema.optional and not ignore_optional:
                # Avro's own rule: the default of a union is of its first member.
                made = [_NULL, made] if schema.default is None else [made, _NULL]
        if not schema.optional:
            self._known[schema] = made
        return made

    def _base(self, schema: Schema) -> Avro:
        match schema.type:
            case Type.STRUCT:
                return self._union(schema) if is_union(schema) else self._struct(schema)
            case Type.ARRAY:
                return {"type": "array", "items": self.schema(_part(schema.value_schema))}
            case Type.MAP:
                return self._map(schema)
            case Type.BYTES:
                return self._bytes(schema)
            case Type.STRING if self._form.is_enum(schema):
                return self._enum(schema)
            case plain:
                return {"type": _PLAIN[plain]}

    def _union(self, schema: Schema) -> Avro:
        members = [self.schema(replace(one.schema, optional=False), ignore_optional=True) for one in schema.fields]
        return [_NULL, *members] if schema.optional else members

    def _struct(self, schema: Schema) -> Avro:
        if schema.optional:
            return [_NULL, self.schema(replace(schema, optional=False))]
        namespace, name = self._name(schema.name)
        made = _named("record", namespace, name, schema.parameters.get(RECORD_DOC))
        made["fields"] = [
            self._field(self._scrubbed(one.name), one.schema, schema.parameters.get(f"{FIELD_DOC}{one.name}"))
            for one in schema.fields
        ]
        return made

    def _map(self, schema: Schema) -> Avro:
        if self._form.is_avro_map(schema):
            return {"type": "map", "values": self.schema(_part(schema.value_schema))}
        namespace, name = (NAMESPACE, MAP_ENTRY) if schema.name is None else self._name(schema.name)
        entry = _named("record", namespace, name, None)
        entry["fields"] = [
            self._field(KEY, _part(schema.key_schema), None),
            self._field(VALUE, _part(schema.value_schema), None),
        ]
        return {"type": "array", "items": entry if schema.name is None else entry | {_INTERNAL_TYPE: MAP_ENTRY}}

    def _bytes(self, schema: Schema) -> Avro:
        size = fixed_size(schema)
        made: dict[str, Any] = {"type": "bytes"}
        if size is not None:
            made = _named("fixed", *self._name(schema.name), None) | {"size": size}
        if schema.name == DECIMAL:
            made["scale"] = decimal_scale(schema)
            made["precision"] = int(schema.parameters.get(PRECISION, DEFAULT_PRECISION))
            _check_digits(size, made)
        return made

    def _enum(self, schema: Schema) -> Avro:
        _, short = self._name(schema.name)
        full = schema.parameters.get(self._form.enum_parameter)
        if full is None:
            raise DataError(f"the schema of an enum has no parameter {self._form.enum_parameter}")
        namespace, _, name = full.rpartition(".")
        made = _named("enum", namespace or None, name, schema.parameters.get(f"{ENUM_DOC}{short}"))
        made["symbols"] = self._form.symbols(schema)
        default = schema.parameters.get(f"{ENUM_DEFAULT}{short}")
        return made if default is None else made | {"default": default}

    def _field(self, name: str, schema: Schema, doc: str | None) -> dict[str, Any]:
        _check_name(name)
        known = schema.name is not None and schema.name in self._seen
        if schema.name is not None:
            self._seen.add(schema.name)
        made: dict[str, Any] = {"name": name, "type": self.schema(schema)}
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None:
            default = self._default(schema, default_of(schema))
            # Confluent's leaves out what is no default for Avro: maps whose keys are no texts.
            made |= {"default": default} if _is_default(made["type"], default) else {}
        elif schema.optional:
            made["default"] = None
        if known and self._form.metadata and _has_name(made["type"]):
            # A type that is used again is a mere name, which leaves no place for its parameters.
            made |= _parameters(schema)
        return made

    def _name(self, full: str | None) -> tuple[str | None, str]:
        if full is None:
            self._unnamed += 1
            return NAMESPACE, DEFAULT_NAME if self._unnamed == 1 else f"{DEFAULT_NAME}{self._unnamed}"
        return split_name(self._form, full)

    def _scrubbed(self, name: str) -> str:
        return scrubbed(name) if self._form.scrub else name

    def _add_metadata(self, schema: Schema, made: dict[str, Any]) -> None:
        """Add what Avro has no words for, in Confluent's order."""
        if self._form.metadata:
            given = {"connect.doc": schema.doc, "connect.version": schema.version, **_parameters(schema)}
            if schema.default is not None and FIELD_DEFAULT not in schema.parameters:
                given["connect.default"] = self._default(schema, default_of(schema))
            given["connect.name"] = schema.name
            given["connect.type"] = schema.type.value if schema.type in (Type.INT8, Type.INT16) else None
            made |= {name: one for name, one in given.items() if one is not None}
        if schema.name in _LOGICAL:
            made["logicalType"] = _LOGICAL[schema.name]
        made |= {name: text for name, text in schema.parameters.items() if name.startswith("avro")}

    def _default(self, schema: Schema, value: Any) -> Any:
        """A default as JSON."""
        if value is None:
            return None
        if schema.type is Type.STRUCT:
            members = ((one.name, one.schema, value[one.name]) for one in schema.fields)
            made = {self._scrubbed(name): self._default_or_own(of, one) for name, of, one in members}
            return next(iter(made.values()), None) if is_union(schema) else made
        if schema.type is Type.ARRAY:
            return [self._default(_part(schema.value_schema), one) for one in value]
        if schema.type is Type.MAP:
            keys, values = _part(schema.key_schema), _part(schema.value_schema)
            pairs = [[self._default(keys, key), self._default(values, one)] for key, one in value.items()]
            return dict(pairs) if self._form.is_avro_map(schema) else pairs
        return _LOGICAL_DEFAULTS.get(schema.name, _PLAIN_DEFAULTS.get(schema.type, _same))(schema, value)

    def _default_or_own(self, schema: Schema, value: Any) -> Any:
        return self._default(schema, default_of(schema) if value is None else value)


_INTERNAL_TYPE: Final = "connect.internal.type"


def split_name(form: AvroForm, full: str) -> tuple[str | None, str]:
    """The namespace and the name that a schema's name says; DataError if Avro does not allow it."""
    parts = [scrubbed(one) for one in full.split(".")] if form.scrub else full.split(".")
    _check_name(parts[-1])
    return ".".join(parts[:-1]) or None, parts[-1]


def scrubbed(name: str) -> str:
    """A name with what Avro does not allow replaced, as Confluent's converters do it."""
    if not _SCRUBBED.search(name) and not name[:1].isdigit():
        return name
    encoded = quote_plus(name, safe="*").replace("~", "%7E")  # as Java has it
    return _SCRUBBED.sub("_", f"x{encoded}" if encoded[:1].isdigit() else encoded)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise DataError(f"{name!r} is no name in Avro: say scrub.invalid.names=true, or name it by letters, digits, _")


def _named(kind: str, namespace: str | None, name: str, doc: str | None) -> dict[str, Any]:
    made = {"type": kind, "name": name, "namespace": namespace}
    return made if doc is None else made | {"doc": doc}


def _parameters(schema: Schema) -> dict[str, Any]:
    shown = {name: text for name, text in schema.parameters.items() if name != FIELD_DEFAULT}
    return {"connect.parameters": shown} if shown else {}


def _check_digits(size: int | None, made: Mapping[str, Any]) -> None:
    if size is None:
        return
    most = len(str(2 ** (8 * size - 1) - 1)) - 1
    if made["precision"] > most:
        raise DataError(f"fixed({size}) cannot store {made['precision']} digits (max {most})")


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema


def _same(_: Schema, value: Any) -> Any:
    return value


def _real(value: float) -> Any:
    """A number of JSON; those that JSON has not are texts, as Jackson writes them."""
    return value if isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124


def _single(value: float) -> Any:
    """The shortest number that is this one in 32 bits, as Java writes it."""
    if not isfinite(value):
        return _real(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next((float(one) for one in texts if _in_32_bits(one) == value), value)


def _in_32_bits(text: str) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", float(text)))[0])
    except OverflowError:
        return float("inf")


_PLAIN_DEFAULTS: Final[Mapping[Type, Callable[[Schema, Any], Any]]] = {
    Type.FLOAT32: lambda _, value: _single(value),
    Type.FLOAT64: lambda _, value: _real(value),
    Type.BYTES: lambda _, value: value.decode("latin-1"),
}
_LOGICAL_DEFAULTS: Final[Mapping[str | None, Callable[[Schema, Any], Any]]] = {
    DECIMAL: lambda schema, value: decimal_bytes(value, decimal_scale(schema)).decode("latin-1"),
    DATE.name: lambda _, value: days_of(value),
    TIME.name: lambda _, value: millis_of_day(value),
    TIMESTAMP.name: lambda _, value: millis_since_1970(value),
}


def _has_name(avro: Avro) -> bool:
    members = avro if isinstance(avro, list) else [avro]
    return any(one["type"] in _NAMED for one in members)


def _is_default(avro: Avro, value: Any) -> bool:
    """Whether Avro takes a value as the default of this type."""
    if isinstance(avro, list):
        return any(_is_default(one, value) for one in avro)
    kind = avro["type"]
    if kind == "record":
        return isinstance(value, dict) and all(
            _is_default(one["type"], value.get(one["name"], one.get("default"))) for one in avro["fields"]
        )
    if kind == "array":
        return isinstance(value, list) and all(_is_default(avro["items"], one) for one in value)
    if kind == "map":
        return isinstance(value, dict) and all(_is_default(avro["values"], one) for one in value.values())
    return bool((value is None) == (kind == "null"))


def _written(avro: Avro, space: str | None, names: dict[tuple[str | None, str], Avro]) -> Any:
    """The JSON of a schema inside a namespace; `names` has the named types that are written already."""
    if isinstance(avro, list):
        return [_written(one, space, names) for one in avro]
    if len(avro) == 1:
        return avro["type"]
    if avro["type"] in _NAMED:
        full = avro["namespace"], avro["name"]
        if full in names:
            # Java writes the name alone, also of a type that is another one, whose values nobody could read then.
            if _bare(names[full]) != _bare(avro):
                what = f"two parts of the schema are types of Avro with the name {avro['name']}, and differ"
                raise DataError(f"{what}: give the schemas of these structs or maps a name")
            short = full[0] is None or (full[0] == space and full[1] not in _TYPE_NAMES)
            return full[1] if short else f"{full[0]}.{full[1]}"
        names[full] = avro
    return dict(_members(avro, space, names))


def _members(
    avro: Mapping[str, Any], space: str | None, names: dict[tuple[str | None, str], Avro]
) -> Iterator[tuple[str, Any]]:
    inner = avro.get("namespace", space) if avro["type"] in _NAMED else space
    for name, one in avro.items():
        if name == "namespace":
            if one != space:
                yield name, one or ""
        elif name == "fields":
            yield name, [field | {"type": _written(field["type"], inner, names)} for field in one]
        elif name in ("items", "values"):
            yield name, _written(one, inner, names)
        else:
            yield name, one


def _bare(avro: Avro) -> Any:
    """What of a schema decides how values are written."""
    if isinstance(avro, list):
        return [_bare(one) for one in avro]
    fields = [(one["name"], _bare(one["type"])) for one in avro.get("fields", ())]
    parts = [_bare(avro[name]) for name in ("items", "values") if name in avro]
    return avro["type"], avro.get("name"), avro.get("size"), avro.get("symbols"), fields, parts


def record_name(avro: Any) -> str | None:
    """The full name of the record that a schema is, or is beside null; None if it is no record."""
    members = [one for one in (avro if isinstance(avro, list) else [avro]) if one not in ("null", _NULL)]
    if len(members) != 1 or not isinstance(members[0], dict) or members[0].get("type") != "record":
        return None
    name, namespace = members[0]["name"], members[0].get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else str(name)
