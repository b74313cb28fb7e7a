"""Whether values of Python have the types of an Avro schema, where fastavro's writer would change them.

It writes 1 for 1.5, true for any text, ints of more than 32 bits, which no reader in Java takes, and records without
what they have beside their fields. Types of the members of unions it checks by itself; it has a check of whole values,
too, which takes ten times as long as to write them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from eosfw.errors import DataError

Check = Callable[[Any], bool]
"""Whether a value may be written; what the writer itself refuses may. DataError says what the library would not."""


def type_check(parsed: Any) -> Check:
    """The check of values of a schema that fastavro has parsed."""
    return _of_node(parsed, {}) or _anything


def _anything(_: Any) -> bool:
    return True


def _of_node(node: Any, named: dict[str, Check]) -> Check | None:
    """The check of a part; None if there is nothing to look at."""
    kind = node.get("type") if isinstance(node, Mapping) else node
    if isinstance(kind, list):
        return _of_union(kind, named)
    if isinstance(kind, Mapping):
        return _of_node(kind, named)
    if not isinstance(node, Mapping) or kind in _SIMPLE:
        return named.get(str(kind)) or _SIMPLE.get(str(kind))
    if kind in ("record", "error"):
        return _of_record(node, named)
    part = _of_node(node["items" if kind == "array" else "values"], named) if kind in ("array", "map") else None
    return None if part is None else _of_array(part) if kind == "array" else _of_map(part)


def _of_record(node: Mapping[str, Any], named: dict[str, Check]) -> Check:
    checks: list[tuple[str, Check]] = []
    # The library takes a key "-type", too: it says which record of a union a value is.
    names = {"-type", *(one["name"] for one in node["fields"])}

    def check(value: Any) -> bool:
        if not isinstance(value, Mapping):
            return True
        if not value.keys() <= names:
            unknown = next(name for name in value if name not in names)
            raise DataError(f"it has a member {unknown!r}, and {node['name']} of its Avro schema no such field")
        # A field that is missing has a default, or is refused.
        return all(of_field(value[name]) for name, of_field in checks if name in value)

    named[node["name"]] = check  # before its fields, which may be of this type
    found = ((one["name"], _of_node(one["type"], named)) for one in node["fields"])
    checks += [(name, of_field) for name, of_field in found if of_field is not None]
    return check


def _of_union(members: Sequence[Any], named: dict[str, Check]) -> Check | None:
    found = [(one, _of_node(one, named)) for one in members]
    kinds = [one["type"] if isinstance(one, Mapping) else one for one in members]
    records = [check for one, check in found if check is not None and _is_record(one, named)]
    if not records or "map" in kinds:
        return None
    if len(records) == 1:
        return records[0]
    return lambda value: any(_passes(check, value) for check in records)


def _is_record(node: Any, named: Mapping[str, Check]) -> bool:
    return node in named if isinstance(node, str) else node["type"] in ("record", "error")


def _passes(check: Check, value: Any) -> bool:
    try:
        return check(value)
    except DataError:
        return False


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
