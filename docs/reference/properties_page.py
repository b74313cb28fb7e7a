"""Write docs/reference/properties.md from the definitions themselves; a test finds the page out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eosfw.config import ConfigDef, Key
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.definition.config_def import REQUIRED
from eosfw.config.worker import WORKER
from eosfw_console.extension import Console
from eosfw_file.properties import CONNECTOR
from eosfw_http.properties import CONNECTOR as HTTP
from eosfw_postgres.properties import CONNECTOR as POSTGRES
from eosfw_rest.properties import PROPERTIES as REST
from eosfw_schema_registry.avro.converter import AVRO
from eosfw_schema_registry.json_schema.converter import JSON_SCHEMA
from eosfw_schema_registry.protobuf.converter import PROTOBUF
from eosfw_schema_registry.record_schemas import RECORD_SCHEMAS
from eosfw_singer.properties import CONNECTOR as SINGER
from eosfw_sql.properties import CONNECTOR as SQL

PAGE = Path(__file__).with_name("properties.md")
HEAD = """# Properties

Names, types and meanings are Kafka Connect's wherever it has them. In a pipeline file they are quoted TOML keys:
`"transaction.boundary" = "interval"`. An unknown name is an error that suggests the nearest one. This page is made by
`python docs/reference/properties_page.py`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            HEAD,
            *_section("Worker: section `[worker]`", WORKER),
            "Beside these, `producer.*`, `consumer.*` and `admin.*` go to the clients of that kind,",
            "`bootstrap.servers` excepted: connectors choose another cluster each for itself. `offset.store.*`,",
            "`fencer.*` and `isolation.reader.*` go to the part that was chosen, if it takes properties",
            "([write one](../how-to/write-a-part.md)).\n",
            *_section("Worker with a REST interface: `eosfw-rest`", REST),
            *_section(
                "Extension `console`, each after `rest.extension.classes.console.`: `eosfw-console`", Console.config
            ),
            *_section("Every source connector: section `[connectors.NAME]`", SOURCE_CONNECTOR),
            "Beside these, `producer.override.*`, `consumer.override.*` and `admin.override.*` go to its own clients,",
            "all three with the same `bootstrap.servers` where it writes to",
            "[another cluster](../explanation/exactly-once.md#an-offsets-topic-of-its-own). `offset.store.*` and",
            "`fencer.*` go to a part that the connector chooses for itself, which gets none of the worker's.",
            "`name` is the name of the section.\n",
            *_section("Connector `file`", CONNECTOR),
            *_section("Connector `postgres`", POSTGRES),
            *_section("Connector `singer`", SINGER),
            *_section("Connector `sql`", SQL),
            *_section("Connector `http`", HTTP),
            *_section("Converter `avro`: behind `value.converter.`, as the next ones", AVRO),
            *_section("Converters `json-schema` and `protobuf`: behind `value.converter.`", RECORD_SCHEMAS),
            *_section("Converter `json-schema`", JSON_SCHEMA),
            *_section("Converter `protobuf`", PROTOBUF),
        ]
    )


def _section(title: str, definition: ConfigDef) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| property | takes | default | meaning |"
    yield "|---|---|---|---|"
    yield from (_row(key) for key in definition.keys.values())
    yield ""


def _row(key: Key) -> str:
    takes = ", ".join(f"`{word}`" for word in getattr(key, "among", ())) or type(key).__name__
    text = ",".join(key.default) if isinstance(key.default, tuple) else key.default
    default = "required" if text is REQUIRED else "" if text in (None, "") else f"`{text}`"
    return f"| `{key.name}` | {takes} | {default} | {key.doc} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
