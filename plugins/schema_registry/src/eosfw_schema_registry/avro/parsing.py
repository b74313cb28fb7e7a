"""Avro schemas from JSON, with names resolved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from eosfw.errors import DataError

NAMED: Final = ("record", "enum", "fixed", "error")


def resolved(texts: Sequence[str]) -> Any:
    """The last of these schemas, which may refer to those before it: a dict with `type`, or the list of a union.

    Wherever a named type is used stands the dict of its definition, whose `name` is its full name. DataError if it is
    no schema of Avro.
    """
    known: dict[str, dict[str, Any]] = {}
    try:
        return [_node(json.loads(text), None, known) for text in texts][-1]
    except (KeyError, TypeError, ValueError) as why:
        raise DataError(f"it is no Avro schema: {why}") from None


def _node(given: Any, space: str | None, known: dict[str, dict[str, Any]]) -> Any:
    if isinstance(given, list):
        return [_node(one, space, known) for one in given]
    if isinstance(given, str):
        full = given if "." in given or space is None else f"{space}.{given}"
        return known.get(full) or known.get(given) or {"type": given}
    kind = given["type"]
    if isinstance(kind, (dict, list)):
        return _node(kind, space, known)
    made = dict(given)
    if kind in NAMED:
        made["name"] = _full_name(given, space)
        space = made["name"].rpartition(".")[0] or None
        known[made["name"]] = made
    if kind in ("record", "error"):
        made["fields"] = [one | {"type": _node(one["type"], space, known)} for one in given["fields"]]
    for part in {"array": ("items",), "map": ("values",)}.get(kind, ()):
        made[part] = _node(given[part], space, known)
    return made if kind in (*NAMED, "array", "map") or kind in _PRIMITIVE else _node(kind, space, known)


def _full_name(given: dict[str, Any], space: str | None) -> str:
    name, namespace = given["name"], given.get("namespace", space)
    return str(name) if "." in name or not namespace else f"{namespace}.{name}"


_PRIMITIVE: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
