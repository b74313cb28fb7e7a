"""The JSON of Avro schemas, as Java writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from eosfw.errors import DataError

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
_DECISIVE: Final = ("type", "name", "size", "symbols", "logicalType", "scale", "connect.type", "connect.name")
"""What beside its parts says how a value is written, or what its bytes are when it is read."""


def schema_text(avro: Any) -> str:
    """The JSON of an Avro schema, as Java writes it: each named type in full where it comes first."""
    return json.dumps(_written(avro, None, {}), ensure_ascii=False, separators=(",", ":"))


def _written(avro: Any, space: str | None, names: dict[tuple[str | None, str], Any]) -> Any:
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
    avro: Mapping[str, Any], space: str | None, names: dict[tuple[str | None, str], Any]
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


def _bare(avro: Any) -> Any:
    """What of a schema decides how values are written and read."""
    if isinstance(avro, list):
        return [_bare(one) for one in avro]
    fields = [(one["name"], _bare(one["type"])) for one in avro.get("fields", ())]
    parts = [_bare(avro[name]) for name in ("items", "values") if name in avro]
    return [avro.get(name) for name in _DECISIVE], fields, parts


def record_name(avro: Any) -> str | None:
    """The full name of the record that a schema is, or is beside null; None if it is no record."""
    members = [one for one in (avro if isinstance(avro, list) else [avro]) if one not in ("null", _NULL)]
    if len(members) != 1 or not isinstance(members[0], dict) or members[0].get("type") != "record":
        return None
    name, namespace = members[0]["name"], members[0].get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else str(name)
