"""The schema of JSON Lines, which the properties give as JsonConverter writes schemas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eosfw.builtin.converters import parse_json, read_schema
from eosfw.errors import ConfigError, DataError, Problem

if TYPE_CHECKING:
    from eosfw.config import Config
    from eosfw.data import Schema


def value_schema(config: Config) -> Schema | None:
    """The schema of the values, if there is one; ConfigError if it is none."""
    text, file = config["value.schema"], config["value.schema.file"]
    if text is None and file is None:
        return None
    name = "value.schema" if file is None else "value.schema.file"
    try:
        return read_schema(parse_json(_read(file) if file is not None else text.encode()))
    except DataError as why:
        raise ConfigError(Problem(name, f"this is no schema as JsonConverter writes it: {why}")) from None


def _read(path: str) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read()
    except OSError as why:
        raise ConfigError(Problem("value.schema.file", f"{path} cannot be read: {why.strerror}")) from None
