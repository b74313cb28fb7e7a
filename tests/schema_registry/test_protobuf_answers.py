"""Protobuf is written and read as Confluent's ProtobufData does it, by its own answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

from eosfw.data import SchemaAndValue, fitted
from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.connect_schema import ReadingRules, connect_schema
from eosfw_schema_registry.protobuf.decoders import decoder
from eosfw_schema_registry.protobuf.descriptors import ProtobufRules, message_schema
from eosfw_schema_registry.protobuf.encoders import encoder
from eosfw_schema_registry.protobuf.known_files import META
from eosfw_schema_registry.protobuf.stored_files import stored_file
from kafka_connect.notation import shown_schema, shown_value
from schema_registry.golden.protobuf_cases import Case, cases

NULL_IN_MAP = {"f": {"p": {"x": 1, "y": 2.0}, "q": None}}
GOLDEN = Path(__file__).parent / "golden"


def answers(name: str) -> list[Any]:
    return [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]


@cache
def schemas() -> list[Any]:
    return answers("protobuf_schemas.jsonl")


def stored(answer: Mapping[str, Any]) -> Any:
    """The file of the schema of an answer."""
    return stored_file(schemas()[answer["schema"]]["descriptor"])


def writing(given: Mapping[str, str]) -> ProtobufRules:
    names = ("optional.for.nullables", "wrapper.for.nullables", "scrub.invalid.names", "ignore.default.for.nullables")
    return ProtobufRules(*(name in given for name in names))


def reading(given: Mapping[str, str]) -> ReadingRules:
    return ReadingRules(
        optional_for_nullables="optional.for.nullables" in given,
        wrapper_for_nullables="wrapper.for.nullables" in given,
        wrapper_for_raw_primitives="wrapper.for.raw.primitives" not in given,
        full_names="enhanced.protobuf.schema.support" in given,
        int_for_enums="int.for.enums" in given,
        flatten_unions="flatten.unions" in given,
        index_for_unions="generate.index.for.unions" not in given,
    )


def test_schemas_and_messages_are_those_of_confluents_protobuf_data() -> None:
    """CNV-23: every type, logical type and container, with each property, to the byte of the message."""
    pairs = zip(cases(), answers("protobuf_written.jsonl"), strict=True)
    wrong = [(case, wanted, made) for case, wanted in pairs if not _same((made := written(case)), wanted)]
    assert wrong == []


def written(case: Case) -> Any:
    rules = writing(case.properties)
    try:
        made = message_schema(rules, case.schema)
        data = encoder(rules, case.schema).encode(fitted(case.schema, case.value))
    except DataError as why:
        return str(why)
    return comparable(made.file), made.descriptor.full_name, data


def _same(made: Any, wanted: Mapping[str, Any]) -> bool:
    # Of two names that Protobuf tells apart Java's parser takes one; arrays of maps it writes as long as they are null.
    if "error" in wanted or (isinstance(made, str) and "Array cannot be nested" in made):
        return True
    file = descriptor_pb2.FileDescriptorProto()
    stored(wanted).CopyToProto(file)
    return bool(made == (comparable(file), wanted["message"], base64.b64decode(wanted["bytes"])))


def comparable(file: Any) -> Any:
    """A file as it is compared: Java leaves one import out, the compiler adds names for JSON, and oneofs come last."""
    made = descriptor_pb2.FileDescriptorProto()
    made.CopyFrom(file)
    made.ClearField("name")
    imports = sorted(one for one in made.dependency if one != META)
    del made.dependency[:]
    made.dependency.extend(imports)
    todo = list(made.message_type)
    while todo:
        message = todo.pop()
        todo.extend(message.nested_type)
        fields = sorted(message.field, key=lambda one: one.number)
        for one in fields:
            one.ClearField("json_name")
        del message.field[:]
        message.field.extend(fields)
    return made


def test_what_is_read_is_what_confluents_protobuf_data_reads() -> None:
    """CNV-24: with each property."""
    asked = [(case, one) for case, one in zip(cases(), answers("protobuf_written.jsonl"), strict=True)
             if "error" not in one]  # fmt: skip
    wrong = []
    for (case, one), wanted in zip(asked, answers("protobuf_read.jsonl"), strict=True):
        if case.value == NULL_IN_MAP:  # of which Java makes an Inner without fields
            continue
        found = read(case.properties, one)
        if found != (wanted if "error" not in wanted else "refused"):
            wrong.append((case, wanted, found))
    assert wrong == []


def read(properties: Mapping[str, str], answer: Mapping[str, Any]) -> Any:
    message = stored(answer).pool.FindMessageTypeByName(answer["message"])
    try:
        schema = connect_schema(reading(properties), message)
        made = SchemaAndValue(schema, decoder(reading(properties), message)(base64.b64decode(answer["bytes"])))
    except DataError:
        return "refused"
    return {"schema": shown_schema(made.schema), "value": shown_value(*made)}
