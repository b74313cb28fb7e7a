"""The schema of the values, which the properties give as JsonConverter writes schemas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosfw.builtin.converters import parse_json, read_payload, read_schema
from eosfw.errors import ConfigError, DamagedDataError, DataError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.config import Config
    from eosfw.data import Schema


def value_schema(config: Config) -> Schema | None:
    """The schema of the values, if there is one; ConfigError if it is none."""
    text, file = config["value.schema"], config["value.schema.file"]
    if text is None and file is None:
        return None
    name = "value.schema" if file is None else "value.schema.file"
    try:
        return read_schema(parse_json(text.encode() if file is None else _read(file)))
    except DataError as why:
        raise ConfigError(Problem(name, f"this is no schema as JsonConverter writes it: {why}")) from None


def values_of(schema: Schema | None, records: Sequence[dict[str, Any]]) -> Sequence[Any]:
    """Records as values of a schema, without the fields that it has not; as they are without one."""
    if schema is None:
        return records
    try:
        return [read_payload(schema, record) for record in records]
    except DataError as why:
        raise DamagedDataError(f"a record does not fit value.schema: {why}; correct the schema") from None


def _read(path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as why:
        raise ConfigError(Problem("value.schema.file", f"{path} cannot be read: {why.strerror}")) from None
