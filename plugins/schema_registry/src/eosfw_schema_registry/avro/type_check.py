"""Whether values of Python have the types of an Avro schema, where fastavro's writer would change them.

It writes 1 for 1.5, true for any text, and ints of more than 32 bits, which no reader in Java takes. Members of unions
it checks by itself; it has a check of whole values, too, which takes ten times as long as to write them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

Check = Callable[[Any], bool]
"""Whether a value may be written; what the writer itself refuses may."""


def type_check(parsed: Any) -> Check:
    """The check of values of a schema that fastavro has parsed."""
    return _of_node(parsed, {}) or _anything


def _anything(_: Any) -> bool:
    return True


def _of_node(node: Any, named: dict[str, Check]) -> Check | None:
    """The check of a part; None if there is nothing to look at."""
    kind = node.get("type") if isinstance(node, Mapping) else node
    if isinstance(kind, (Mapping, list)):
        return None if isinstance(kind, list) else _of_node(kind, named)
    if not isinstance(node, Mapping) or kind in _SIMPLE:
        return named.get(str(kind)) or _SIMPLE.get(str(kind))
    if kind in ("record", "error"):
        return _of_record(node, named)
    part = _of_node(node["items" if kind == "array" else "values"], named) if kind in ("array", "map") else None
    return None if part is None else _of_array(part) if kind == "array" else _of_map(part)


def _of_record(node: Mapping[str, Any], named: dict[str, Check]) -> Check:
    checks: list[tuple[str, Check]] = []

    def check(value: Any) -> bool:
        if not isinstance(value, Mapping):
            return True
        # A field that is missing has a default, or is refused.
        return all(of_field(value[name]) for name, of_field in checks if name in value)

    named[node["name"]] = check  # before its fields, which may be of this type
    found = ((one["name"], _of_node(one["type"], named)) for one in node["fields"])
    checks += [(name, of_field) for name, of_field in found if of_field is not None]
    return check


def _of_array(part: Check) -> Check:
    return lambda value: not isinstance(value, Collection) or _all(part, value)


def _of_map(part: Check) -> Check:
    return lambda value: not isinstance(value, Mapping) or _all(part, value.values())


def _all(check: Check, values: Iterable[Any]) -> bool:
    return all(map(check, values))


def _int(value: Any) -> bool:
    return _long(value) and not (isinstance(value, int) and not -(2**31) <= value < 2**31)


def _long(value: Any) -> bool:
    # Dates and times have types of their own.
    return not isinstance(value, (bool, float))


_SIMPLE: Final[Mapping[str, Check]] = {
    "int": _int,
    "long": _long,
    "float": lambda value: not isinstance(value, bool),
    "double": lambda value: not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}
