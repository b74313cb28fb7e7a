"""Names of schemas and fields, as Debezium's `schema.name.adjustment.mode` and `field.name.adjustment.mode` say."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["MODES", "field_names", "schema_names"]

MODES = ("none", "avro", "avro_unicode")


def schema_names(mode: str) -> Callable[[str], str]:
    """What makes of a full name one that the mode allows; its parts stay parts."""
    return _adjuster(mode, first="A-Za-z_", others="A-Za-z0-9_.")


def field_names(mode: str) -> Callable[[str], str]:
    """What makes of a column's name the name of a field."""
    return _adjuster(mode, first="A-Za-z_", others="A-Za-z0-9_")


def _adjuster(mode: str, first: str, others: str) -> Callable[[str], str]:
    if mode == "none":
        return str
    coded = mode == "avro_unicode"
    if coded:  # the underscore begins a code, so it becomes one, too
        first, others = first.replace("_", ""), others.replace("_", "")
    unfit_first, unfit = re.compile(f"[^{first}]"), re.compile(f"[^{others}]")

    def replaced(found: re.Match[str]) -> str:
        return f"_u{ord(found[0]):04x}" if coded else "_"

    def adjusted(name: str) -> str:
        head = unfit_first.sub(replaced, name[:1])
        if not coded and name[:1].isdigit():
            head += name[0]
        return head + unfit.sub(replaced, name[1:])

    return adjusted
