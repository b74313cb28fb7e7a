"""Record what Confluent's AvroData makes of `avro_cases.py`, an answer in each line.

`python tests/schema_registry/golden/record_avro.py FOLDER` needs Java 17 or later and, in the folder, a checkout of
https://github.com/confluentinc/schema-registry; the answers are those of its commit 794611bd86d, of August 2026. Run it
after a change of the cases, and commit both.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import fastavro
import jgo

HERE = Path(__file__).parent
WRITING, READING = "1.12.0", "1.12.2"
"""Releases of Avro: the former reads doubles of arrays as floats, the latter writes defaults of 32 bits as of 64."""
JARS = "com.google.guava:guava:33.3.1-jre+org.apache.kafka:connect-json:4.1.1"
SOURCES = ("avro-data", "schema-converter", "avro-serializer")


def main(checkout: Path) -> None:
    """Write the answers: what is written and how it is read back, or in an object the message of the error."""
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from avro_cases import PROPERTIES, READ, cases

    from eosfw.data import fitted
    from kafka_connect.java import ask
    from kafka_connect.notation import shown_schema, shown_value

    with tempfile.TemporaryDirectory() as made:
        classes = Path(made)
        asked = list(cases())
        written = ask(
            [
                question(
                    "from_connect_data",
                    case.properties,
                    schema=shown_schema(case.schema),
                    value=shown_value(case.schema, fitted(case.schema, case.value)),
                )
                for case in asked
            ],
            compiled(checkout, classes, WRITING),
        )
        backwards = [
            question("to_connect_data", case.properties, bytes=answer["bytes"])
            for case, answer in zip(asked, written, strict=True)
            if "error" not in answer and case.value is not None
        ]
        foreign = [
            question("to_connect_data", properties, bytes=base64.b64encode(datum(schema, value)).decode())
            for schema, value in READ
            for properties in PROPERTIES
        ]
        read = ask(backwards + foreign, compiled(checkout, classes, READING))
    lines(HERE / "avro_written.jsonl", map(parted, written))
    lines(HERE / "avro_read.jsonl", read[: len(backwards)])
    lines(HERE / "avro_read_foreign.jsonl", read[len(backwards) :])


def compiled(checkout: Path, folder: Path, avro: str) -> list[Path]:
    """The jars and the folder with the classes, made of Confluent's sources and of those beside this script."""
    jars = jgo.build(f"org.apache.avro:avro:{avro}+{JARS}").all_jars
    sources = [HERE / "java", *(checkout / one / "src/main/java" for one in SOURCES)]
    places = ["-cp", ":".join(map(str, jars)), "-sourcepath", ":".join(map(str, sources)), "-d", str(folder)]
    subprocess.run(["javac", "-nowarn", *places, str(HERE / "java/ConfluentAvro.java")], check=True)
    return [*jars, folder]


def question(operation: str, properties: dict[str, str], **given: Any) -> dict[str, Any]:
    return {"operation": operation, "class": "ConfluentAvro", "properties": properties, "topic": "t", **given}


def datum(schema: Any, value: Any) -> bytes:
    """What `ConfluentAvro` reads: the schema as text, a zero, the value."""
    out = io.BytesIO(json.dumps(schema).encode() + b"\0")
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def parted(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with the text of the schema and the bytes of the value, if it is no error."""
    if "error" in answer:
        return answer
    schema, _, value = base64.b64decode(answer["bytes"]).partition(b"\0")
    return {"schema": json.loads(schema), "bytes": base64.b64encode(value).decode()}


def lines(file: Path, answers: Any) -> None:
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in answers), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
