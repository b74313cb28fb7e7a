"""The Avro schema that properties give, for records that have none of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from eosfw.config import Config, ConfigDef, String
from eosfw.config.named_file import read_text
from eosfw.errors import DataError
from eosfw_schema_registry.avro.encoding import parsed_schema
from eosfw_schema_registry.registry import wrong

GIVEN_SCHEMA: Final = ConfigDef(
    String("schema", None, "the Avro schema of records without a schema, as JSON"),
    String("schema.file", None, "a file with that schema, on each machine of the worker group"),
)


def given_schema(config: Config) -> str | None:
    """The schema as JSON, if there is one; ConfigError if it cannot be read."""
    text, file = config["schema"], config["schema.file"]
    if (text is not None) + (file is not None) + config["use.latest.version"] > 1:
        raise wrong("Avro takes only one of schema, schema.file and use.latest.version=true")
    if file is not None:
        try:
            text = read_text(Path(file))
        except (OSError, ValueError) as why:
            raise wrong(f"schema.file cannot be read: {why}") from None
    if text is None:
        return None
    try:
        made = json.dumps(json.loads(text))
    except ValueError as why:
        raise wrong(f"the Avro schema is not JSON: {why}") from None
    try:
        parsed_schema([made])
    except DataError as why:
        raise wrong(f"the property schema or schema.file: {why}") from None
    return made
