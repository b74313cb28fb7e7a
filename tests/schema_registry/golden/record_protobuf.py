"""Record what Confluent's ProtobufData makes of `protobuf_cases.py`, an answer in each line.

`python tests/schema_registry/golden/record_protobuf.py FOLDER` needs Java 17 or later on Linux and, in the folder, a
checkout of https://github.com/confluentinc/schema-registry; the answers are those of its commit 794611bd86d, of August
2026. Run it after a change of the cases, and commit both.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import grpc_tools
import jgo
from jgo.maven import MavenContext

HERE = Path(__file__).parent
PROTOBUF = "4.34.0"
JARS = (
    "com.squareup.wire:wire-schema-jvm:6.4.5+com.squareup.wire:wire-runtime-jvm:6.4.5"
    f"+com.google.protobuf:protobuf-java:{PROTOBUF}+com.google.protobuf:protobuf-java-util:{PROTOBUF}"
    "+com.google.api.grpc:proto-google-common-protos:2.53.0+com.google.guava:guava:33.3.1-jre"
    "+org.apache.commons:commons-lang3:3.18.0+io.swagger.core.v3:swagger-annotations:2.2.42"
    "+org.apache.kafka:connect-json:4.1.1"
)
SOURCES = ("protobuf-converter", "protobuf-provider", "protobuf-types", "protobuf-serializer", "schema-converter",
           "client", "schema-serializer")  # fmt: skip
TYPES = ("confluent/meta.proto", "confluent/type/decimal.proto", "confluent/type/variant.proto")
_META = 'import "confluent/meta.proto";\n'


def main(checkout: Path) -> None:
    """Write the answers: what is written and how it is read back, or the message of the error."""
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from protobuf_cases import cases

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
                    value=shown_value(case.schema, fitted(case.schema, case.value)),
                )
                for case in asked
            ],
            classpath,
        )
        read = ask(
            [
                question("to_connect_data", case.properties, bytes=answer["bytes"])
                for case, answer in zip(asked, written, strict=True)
                if "error" not in answer
            ],
            classpath,
        )
    schemas: dict[str, int] = {}
    lines(HERE / "protobuf_written.jsonl", [parted(answer, schemas) for answer in written])
    lines(HERE / "protobuf_schemas.jsonl", [{"text": one, "descriptor": descriptor(one)} for one in schemas])
    lines(HERE / "protobuf_read.jsonl", read)


def compiled(checkout: Path, folder: Path) -> list[Path]:
    """The jars and the folder with the classes, made of Confluent's sources and of those beside this script."""
    protoc = MavenContext().project("com.google.protobuf", "protoc").at_version(PROTOBUF)
    program = protoc.artifact("linux-x86_64", "exe").resolve()
    program.chmod(0o755)
    types, known = checkout / "protobuf-types/src/main/proto", Path(grpc_tools.__file__).parent / "_proto"
    (folder / "made").mkdir()
    subprocess.run([program, f"-I{types}", f"-I{known}", f"--java_out={folder / 'made'}", *TYPES], check=True)
    jars = jgo.build(JARS).all_jars
    own = HERE / "java_protobuf"
    sources = [own, folder / "made", *(checkout / one / "src/main/java" for one in SOURCES)]
    places = ["-cp", ":".join(map(str, jars)), "-sourcepath", ":".join(map(str, sources)), "-d", str(folder)]
    files = [HERE / "java/io/confluent/connect/schema/ConnectVariant.java", own / "ConfluentProtobuf.java"]
    subprocess.run(["javac", "-nowarn", *places, *map(str, files)], check=True)
    return [*jars, folder]


def question(operation: str, properties: dict[str, str], **given: Any) -> dict[str, Any]:
    return {"operation": operation, "class": "ConfluentProtobuf", "properties": properties, "topic": "t", **given}


def parted(answer: dict[str, Any], schemas: dict[str, int]) -> dict[str, Any]:
    """An answer with the place of the schema among all, and the bytes of the message, if it is no error."""
    if "error" in answer:
        return answer
    schema, _, rest = base64.b64decode(answer["bytes"]).partition(b"\0")
    name, _, value = rest.partition(b"\0")
    place = schemas.setdefault(schema.decode(), len(schemas))
    return {"schema": place, "message": name.decode(), "bytes": base64.b64encode(value).decode()}


def descriptor(text: str) -> str:
    """What Protobuf's compiler makes of a schema."""
    from eosfw_schema_registry.protobuf.stored_files import stored_file

    # Java leaves this import out.
    head, separator, tail = text.partition(";\n")
    whole = f"{head}{separator}{_META}{tail}" if "confluent.field_meta" in text else text
    return base64.b64encode(stored_file(whole).serialized_pb).decode()


def lines(file: Path, answers: Any) -> None:
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in answers), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
