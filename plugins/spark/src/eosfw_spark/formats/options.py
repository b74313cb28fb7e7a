"""The options of `format("eosfw")` about formats of keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from eosfw.config import nearest
from eosfw_spark.formats.registry import PROPERTIES
from eosfw_spark.option_parser import OptionParser, choice

BINARY: Final = "binary"
FORMATS: Final = ("json", "avro", "protobuf")
REGISTRY: Final = "schema.registry."
MODE: Final = "mode"
CORRUPT: Final = "columnNameOfCorruptRecord"
MODES: Final = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
_OF_COLUMN: Final = ("format", "schema", "subject", "descriptor.file", "message.name", "typed.column")
COLUMNS: Final = ("key", "value")
KAFKA_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestamptype", "headers")
"""In small letters: Spark does not tell names apart by their case."""
KNOWN: Final = (
    *(f"{column}.{name}" for column in reversed(COLUMNS) for name in _OF_COLUMN),
    *(REGISTRY + name for name in PROPERTIES),
    MODE,
    CORRUPT,
)


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """What was said of `key` or `value`."""

    column: str
    format: str
    schema: str | None = None
    subject: str | None = None
    descriptor_file: str | None = None
    message: str | None = None
    typed_column: str | None = None
    """The name of a column beside the bytes; None puts the typed column in their place."""


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What was said of formats; without columns nothing is decoded."""

    columns: tuple[ColumnOptions, ...] = ()
    mode: str = MODES[0]
    corrupt_record: str | None = None
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The properties of the registry's client; passwords are among them."""


class FormatOptionParser(OptionParser):
    """Reads these options, and collects what is wrong with them."""

    def _formats(self) -> FormatOptions:
        registry = {
            name.removeprefix(REGISTRY): text for name, text in self._given.items() if name.startswith(REGISTRY)
        }
        columns = tuple(each for column in COLUMNS if (each := self._column(column, bool(registry))) is not None)
        if registry and not registry.get("url"):
            self._wrong(
                f"{REGISTRY}url", "is missing; give the address of the schema registry, such as http://HOST:8081"
            )
        mode = self._value(MODE, choice({each.lower(): each for each in MODES}), MODES[0])
        for name in (MODE, CORRUPT):
            if not columns and self._text(name) is not None:
                self._wrong(name, "is for records that are decoded: give value.format or key.format")
        corrupt = self._text(CORRUPT)
        if columns and corrupt is not None and mode != "PERMISSIVE":
            self._wrong(CORRUPT, "is for mode PERMISSIVE, which has such a column")
        self._require_new_names(
            {CORRUPT: corrupt, **{f"{each.column}.typed.column": each.typed_column for each in columns}}
        )
        if registry and not columns:
            self._wrong(f"{REGISTRY}url", "is for records that are decoded: give value.format or key.format")
        return FormatOptions(columns, mode, corrupt, registry)

    def _require_new_names(self, given: Mapping[str, str | None]) -> None:
        seen = set(KAFKA_COLUMNS)
        for option, name in given.items():
            if name is not None and name.lower() in seen:
                self._wrong(option, f"is {name}, which is a column already")
            seen.add((name or "").lower())

    def _names_formats(self) -> bool:
        return any(self._text(name) is not None for name in KNOWN)

    def _column(self, column: str, registry: bool) -> ColumnOptions | None:  # noqa: FBT001 - whether there is one
        known = {each: each for each in (BINARY, *FORMATS)}
        name = self._value(f"{column}.format", choice(known), BINARY)
        given = {each: self._text(f"{column}.{each}") for each in _OF_COLUMN[1:]}
        if name == BINARY:
            for each, text in given.items():
                if text is not None:
                    self._wrong(f"{column}.{each}", f"needs {column}.format: json, avro or protobuf")
            return None
        found = ColumnOptions(
            column,
            name,
            given["schema"],
            given["subject"],
            given["descriptor.file"],
            given["message.name"],
            given["typed.column"],
        )
        for each, what in _contradictions(found, registry):
            self._wrong(f"{column}.{each}", what)
        return found


def _contradictions(given: ColumnOptions, registry: bool) -> list[tuple[str, str]]:  # noqa: FBT001
    found = []
    column, stated = given.column, given.schema is not None or given.descriptor_file is not None
    if given.format == "protobuf" and given.schema is not None:
        found.append(("schema", f"is for json and avro: give {column}.descriptor.file, or {REGISTRY}url"))
    elif given.format != "json" and not registry and not stated:
        file = f"{column}.descriptor.file" if given.format == "protobuf" else f"{column}.schema"
        found.append(("format", f"is {given.format} without a schema: give {file}, or {REGISTRY}url"))
    if given.format != "protobuf":
        for name, text in (("descriptor.file", given.descriptor_file), ("message.name", given.message)):
            if text is not None:
                found.append((name, f"is for protobuf, not {given.format}; remove it"))
    if given.subject is not None and (stated or not registry):
        found.append(("subject", f"is where the registry has the schema: remove it, or give {REGISTRY}url alone"))
    return found


def refused(name: str) -> str | None:
    """Why an option of a registry is unknown, None if it is not."""
    lowered = name.lower()
    if not lowered.startswith(REGISTRY) or lowered.removeprefix(REGISTRY) in PROPERTIES:
        return None
    near = nearest(lowered, [REGISTRY + each for each in PROPERTIES])
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(REGISTRY + each for each in PROPERTIES)}"
    return f"unknown option {name}; {hint}"
