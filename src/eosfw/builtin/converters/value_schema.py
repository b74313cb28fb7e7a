"""The schema of a connector's values, which its properties give as JsonConverter writes schemas."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from eosfw.builtin.converters.json_reading import parse_json, read_schema
from eosfw.config.named_file import read_bytes
from eosfw.errors import ConfigError, DataError, Problem

if TYPE_CHECKING:
    from eosfw.config import Config
    from eosfw.data import Schema


def value_schema(config: Config) -> Schema | None:
    """The schema that `value.schema` has or the file `value.schema.file`, as JsonConverter writes schemas.

    None if neither is set; ConfigError if it is no schema, or the file cannot be read.
    """
    text, file = config["value.schema"], config["value.schema.file"]
    if text is None and file is None:
        return None
    name = "value.schema" if file is None else "value.schema.file"
    try:
        return read_schema(parse_json(text.encode() if file is None else _read(file)))
    except DataError as why:
        raise ConfigError(Problem(name, f"this is no schema as JsonConverter writes it: {why}")) from None


def _read(path: str) -> bytes:
    try:
        return read_bytes(Path(os.path.expanduser(path)))
    except OSError as why:
        raise ConfigError(Problem("value.schema.file", f"{path} cannot be read: {why.strerror}")) from None
