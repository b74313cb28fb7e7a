"""Record what Confluent's JsonSchemaData makes of `json_schema_cases.py`, an answer in each line.

`python tests/schema_registry/golden/record_json_schema.py FOLDER` needs Java 17 or later and, in the folder, a checkout
of https://github.com/confluentinc/schema-registry; the answers are those of its commit 794611bd86d, of August 2026. Run
it after a change of the cases, and commit both.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jgo

HERE = Path(__file__).parent
JARS = (
    "com.github.erosb:everit-json-schema:1.14.4+com.fasterxml.jackson.datatype:jackson-datatype-json-org:2.16.2"
    "+com.google.guava:guava:33.3.1-jre+org.apache.kafka:connect-json:4.1.1"
)
SOURCES = ("json-schema-converter", "schema-converter")


def main(checkout: Path) -> None:
    """Write the answers: what is written and how it is read back, or the message of the error."""
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from json_schema_cases import PROPERTIES, READ, cases

    from eosfw.data import fitted
    from kafka_connect.java import ask
    from kafka_connect.notation import shown_schema, shown_value

    with tempfile.TemporaryDirectory() as made:
        classpath = compiled(checkout, Path(made))
        asked = list(cases())
        written = ask(
            [
                question(
                    "from_connect_data",
                    case.properties,
                    schema=shown_schema(case.schema),
                    value=shown_value(case.schema, None if case.value is None else fitted(case.schema, case.value)),
                )
                for case in asked
            ],
            classpath,
        )
        backwards = [
            question("to_connect_data", case.properties, bytes=answer["bytes"])
            for case, answer in zip(asked, written, strict=True)
            if "error" not in answer and not base64.b64decode(answer["bytes"]).endswith(b"\0")
        ]
        foreign = [
            question("to_connect_data", properties, bytes=base64.b64encode(document(schema, value)).decode())
            for schema, value in READ
            for properties in PROPERTIES
        ]
        read = ask(backwards + foreign, classpath)
    lines(HERE / "json_schema_written.jsonl", map(parted, written))
    lines(HERE / "json_schema_read.jsonl", read[: len(backwards)])
    lines(HERE / "json_schema_read_foreign.jsonl", read[len(backwards) :])


def compiled(checkout: Path, folder: Path) -> list[Path]:
    """The jars and the folder with the classes, made of Confluent's sources and of those beside this script."""
    jars = jgo.build(JARS).all_jars
    sources = [HERE / "java", *(checkout / one / "src/main/java" for one in SOURCES)]
    places = ["-cp", ":".join(map(str, jars)), "-sourcepath", ":".join(map(str, sources)), "-d", str(folder)]
    subprocess.run(["javac", "-nowarn", *places, str(HERE / "java/ConfluentJsonSchema.java")], check=True)
    return [*jars, folder]


def question(operation: str, properties: dict[str, str], **given: Any) -> dict[str, Any]:
    return {"operation": operation, "class": "ConfluentJsonSchema", "properties": properties, "topic": "t", **given}


def document(schema: Any, value: Any) -> bytes:
    """What `ConfluentJsonSchema` reads: the JSON Schema, a zero, the value."""
    return json.dumps(schema).encode() + b"\0" + json.dumps(value).encode()


def parted(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with the JSON Schema and the text of the value, if it is no error."""
    if "error" in answer:
        return answer
    schema, _, value = base64.b64decode(answer["bytes"]).partition(b"\0")
    return {"schema": json.loads(schema), "text": value.decode()}


def lines(file: Path, answers: Any) -> None:
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in answers), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
