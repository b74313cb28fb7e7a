"""Protobuf schemas of schemas of Kafka Connect, messages by them, and both read back."""

from __future__ import annotations

import base64
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, text_format
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.effort import EFFORTS

from eosfw.data import (
    INT8,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    Field,
    Schema,
    StructColumns,
    Type,
    array,
    decimal,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.connect_schema import ReadingRules, connect_schema
from eosfw_schema_registry.protobuf.decoders import decoder
from eosfw_schema_registry.protobuf.descriptors import ProtobufRules, message_schema
from eosfw_schema_registry.protobuf.encoders import encoder
from eosfw_schema_registry.protobuf.known_files import known_file
from eosfw_schema_registry.protobuf.names import scrubbed
from eosfw_schema_registry.protobuf.proto_text import proto_text
from eosfw_schema_registry.protobuf.stored_files import message_at, stored_file

from .connect_schemas import EVERY, ONE, schemas, values

PLAIN, OPTIONAL, WRAPPED = ProtobufRules(), ProtobufRules(True), ProtobufRules(False, True)
READING = {PLAIN: ReadingRules(), OPTIONAL: ReadingRules(True), WRAPPED: ReadingRules(False, True)}
BUF = "io.confluent.connect.protobuf"
TAG = f"{BUF}.Tag"
COLOR = Schema(
    Type.STRING,
    name="Color",
    optional=True,
    parameters={f"{BUF}.Enum": "Color", f"{BUF}.Enum.RED": "0", f"{BUF}.Enum.BLUE": "5"},
)
OTHER_COLORS = {f"{BUF}.Enum": "Color", f"{BUF}.Enum.GREEN": "0", f"{BUF}.Enum.BLUE": "1"}
CHOICE = Schema(
    Type.STRUCT,
    name=f"{BUF}.Union.choice",
    optional=True,
    fields=(
        Field("word", replace(STRING, optional=True, parameters={TAG: "7"})),
        Field("number", replace(INT64, optional=True, parameters={TAG: "9", f"{BUF}.Type": "uint64"})),
    ),
)


def body(rules: ProtobufRules, schema: Schema) -> str:
    """The fields of the message `M`."""
    text = proto_text(message_schema(rules, replace(schema, name="M")).file)
    return text.partition("message M {\n")[2].removesuffix("}\n")


def read_back(rules: ProtobufRules, schema: Schema) -> Any:
    """The message as a reader has it that knows the registered text alone."""
    made = message_schema(rules, schema)
    return message_at(stored_file(proto_text(made.file)), made.indexes)


def serialized(rules: ProtobufRules, schema: Schema) -> Any:
    """The message as a registry gives it with format=serialized."""
    made = message_schema(rules, schema)
    text = base64.b64encode(made.file.SerializeToString()).decode()
    return message_at(stored_file(text), made.indexes)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("abc_DEF_123", "abc_DEF_123"),
        ("abc+-.*_", "abc_2B____"),
        ("abc  def", "abc__def"),
        ("0abc.def", "x0abc_def"),
        ("_abc", "x_abc"),
        ("ä~", "_C3_A4_7E"),
    ],
)
def test_names_are_scrubbed_as_protobuf_data_does(name: str, wanted: str) -> None:
    """CNV-23: with `scrub.invalid.names`."""
    assert scrubbed(name) == wanted


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (array(INT32), "Unsupported root schema of type ARRAY"),
        (TIMESTAMP, "Unsupported root schema of type INT64"),
        (struct({"a": array(array(INT32))}), "field 'a': Array cannot be nested"),
        (struct({"a": array(map_of(STRING, INT32))}), "field 'a': Array cannot be nested"),
        (struct({"a b": INT32}), "'a b' is no name in Protobuf: say scrub.invalid.names=true"),
        (struct({"a": INT32}, name="shop.3d"), "'3d' is no name in Protobuf"),
        (struct({"a": struct({"b": INT32}, name="N"), "c": struct({"d": INT32}, name="N")}), "have the name N"),
        (struct({"a": COLOR, "b": replace(COLOR, parameters=OTHER_COLORS)}), "two enums .* have the name Color"),
        (struct({"c": replace(CHOICE, fields=(Field("word", STRING),))}), "has no number"),
    ],
)
def test_what_protobuf_cannot_say_is_refused_when_it_is_registered(schema: Schema, why: str) -> None:
    """CNV-23: with the field and Confluent's words."""
    with pytest.raises(DataError, match=why):
        message_schema(PLAIN, schema)


@EFFORTS
def test_messages_read_as_what_was_written(effort: int) -> None:
    """CNV-23, CNV-24: of schemas at random, by the descriptor that a registry gives."""

    @settings(max_examples=60 * effort)
    @given(st.data(), st.sampled_from((PLAIN, OPTIONAL, WRAPPED)))
    def check(data: st.DataObject, rules: ProtobufRules) -> None:
        schema = data.draw(schemas(lists_of_lists=False).filter(_has_no_nulls_in_parts))
        value = data.draw(values(schema))
        message = serialized(rules, schema)
        written = encoder(rules, schema).encode(value)
        columns = StructColumns({name: [value[name]] * 2 for name in schema.names}, 2)

        assert decoder(READING[rules], message)(written) == as_read(rules, schema, value)
        assert encoder(rules, schema).encode_columns(columns) == [written] * 2
        assert connect_schema(READING[rules], message).names == schema.names

    check()


def test_packages_of_records_do_not_hide_those_of_known_messages() -> None:
    """CNV-23: `confluent` within `io.confluent` would be another."""
    schema = replace(struct({"a": INT8, "b": decimal(2), "c": TIMESTAMP}), name="io.confluent.google.Order")

    text = proto_text(message_schema(PLAIN, schema).file)

    assert "  .confluent.type.Decimal b = 2 [(.confluent.field_meta) = {" in text
    assert read_back(PLAIN, schema).full_name == "io.confluent.google.Order"


def test_a_compiler_reads_what_is_registered_as_what_was_meant() -> None:
    """CNV-23: Protobuf's own, for schemas at random, and one with an enum and a oneof."""

    @settings(max_examples=8)
    @given(schemas(lists_of_lists=False), st.sampled_from((PLAIN, OPTIONAL, WRAPPED)))
    @example(struct({"a": INT32.as_optional(), "c": COLOR, "u": CHOICE}), OPTIONAL)
    def check(schema: Schema, rules: ProtobufRules) -> None:
        meant, read = descriptor_pb2.FileDescriptorProto(), descriptor_pb2.FileDescriptorProto()
        serialized(rules, schema).file.CopyToProto(meant)
        read_back(rules, schema).file.CopyToProto(read)
        assert _without_json_names(read) == _without_json_names(meant)

    check()


def _without_json_names(file: Any) -> Any:
    todo = list(file.message_type)
    while todo:
        message = todo.pop()
        todo.extend(message.nested_type)
        for one in message.field:
            one.ClearField("json_name")
    return file


def _has_no_nulls_in_parts(schema: Schema) -> bool:
    """Whether no array or map may hold a null, which Protobuf cannot write there."""
    parts = [one for one in (schema.key_schema, schema.value_schema) if one is not None]
    if any(one.optional or one.default is not None for one in parts):
        return False
    return all(map(_has_no_nulls_in_parts, (*parts, *(one.schema for one in schema.fields))))


def as_read(rules: ProtobufRules, schema: Schema, value: Any) -> Any:
    """What a reader has of a value: the default of a null, and Protobuf's own default of what it cannot leave out."""
    if value is None:
        value = schema.default
    if value is None:
        always_there = schema.type in (Type.ARRAY, Type.MAP) or (rules == PLAIN and schema.name is None)
        return _ZERO.get(schema.type) if always_there else None
    if schema.type is Type.STRUCT:
        return {one.name: as_read(rules, one.schema, value[one.name]) for one in schema.fields}
    part = schema.value_schema
    if part is None:
        return value
    if schema.type is Type.ARRAY:
        return [as_read(rules, part, one) for one in value]
    return {key: as_read(rules, part, one) for key, one in value.items()}


_ZERO: dict[Type, Any] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64), 0),
    Type.BOOLEAN: False,
    Type.STRING: "",
    Type.BYTES: b"",
    Type.ARRAY: [],
    Type.MAP: {},
}


SHOWN = r"""
i8: -1 i16: 300 i32: 70000 i64: 1099511627776 f32: 0.5 f64: 0.1 yes: true text: "\303\270\"" data: "\000\377"
price { value: "\004\342" precision: 4 scale: 2 } day { year: 2026 month: 11 day: 25 }
at { hours: 23 minutes: 59 seconds: 59 nanos: 999000000 } when { seconds: 1795568523 nanos: 456000000 }
tags: "a" tags: "b" counts { key: "x" value: 1 } by_number { key: 7 value: "seven" } place { city: "Bern" }
"""


def test_protobufs_own_implementation_reads_the_message(tmp_path: Path) -> None:
    """CNV-23, CNV-24: by the text that is registered, with nothing of ours."""
    source, text = tmp_path / "order.proto", proto_text(message_schema(OPTIONAL, EVERY).file)
    source.write_text(text)
    known = tmp_path / "known.binpb"
    names = ("google/protobuf/descriptor.proto", "confluent/meta.proto", "confluent/type/decimal.proto",
             "google/type/date.proto", "google/type/timeofday.proto", "google/protobuf/timestamp.proto")  # fmt: skip
    known.write_bytes(descriptor_pb2.FileDescriptorSet(file=map(known_file, names)).SerializeToString())
    options = (f"--proto_path={tmp_path}", f"--descriptor_set_in={known}", "--decode=shop.Order", "order.proto")
    command = (sys.executable, "-m", "grpc_tools.protoc", *options)

    shown = subprocess.run(command, input=encoder(OPTIONAL, EVERY).encode(ONE), capture_output=True, check=True).stdout

    assert shown.decode().split() == SHOWN.split()


PROTO2 = """
name: "x.proto" package: "shop" syntax: "proto2"
message_type {
  name: "Old"
  field { name: "a" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "u" number: 2 type: TYPE_FIXED64 label: LABEL_REQUIRED }
  field { name: "m" number: 3 type: TYPE_MESSAGE type_name: ".shop.Old.MEntry" label: LABEL_REPEATED }
  field { name: "word" number: 4 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
  nested_type {
    name: "MEntry"
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
    options { map_entry: true }
  }
  oneof_decl { name: "choice" }
}
message_type {
  name: "Self"
  field { name: "s" number: 1 type: TYPE_MESSAGE type_name: ".shop.Self" label: LABEL_OPTIONAL }
}
"""


def old(index: int) -> Any:
    file = text_format.Parse(PROTO2, descriptor_pb2.FileDescriptorProto())
    return message_at(stored_file(base64.b64encode(file.SerializeToString()).decode()), (index,))


def test_schemas_of_others_read_by_the_rules_of_protobuf_data() -> None:
    """CNV-24: proto2, maps, unsigned numbers and oneofs, with and without their packages."""
    union = struct({"word": replace(STRING, optional=True, parameters={TAG: "4"})}, name=f"{BUF}.Union.choice")
    entry = replace(map_of(replace(STRING, optional=True, parameters={TAG: "1"}),
                           replace(Schema(Type.FLOAT64), optional=True, parameters={TAG: "2"})),
                    name="m", optional=True, parameters={TAG: "3"})  # fmt: skip
    number = replace(INT64, optional=True, parameters={f"{BUF}.Type": "fixed64", TAG: "2"})
    wanted = {"a": replace(INT32, optional=True, parameters={TAG: "1"}), "u": number, "m": entry}

    assert connect_schema(ReadingRules(), old(0)) == struct({"choice_0": union.as_optional(), **wanted}, name="Old")
    flat = connect_schema(ReadingRules(flatten_unions=True, full_names=True, optional_for_nullables=True), old(0))
    assert (flat.name, flat.names[0]) == ("shop.Old", "word")
    assert [one.schema.optional for one in flat.fields] == [True, True, False, True]
    data = b"\x11" + b"\xff" * 8 + b"\x1a\x0c\x0a\x01k\x11" + b"\0" * 8
    assert decoder(ReadingRules(), old(0))(data) == {"choice_0": None, "a": None, "u": -1, "m": {"k": 0.0}}


def test_what_does_not_read_is_refused_without_its_bytes() -> None:
    """CNV-24: bytes that are no message, messages that hold themselves, indexes of none."""
    with pytest.raises(DataError, match=r"it is no message shop\.Old"):
        decoder(ReadingRules(), old(0))(b"secret")
    with pytest.raises(DataError, match=r"shop\.Self holds itself"):
        connect_schema(ReadingRules(), old(1))
    with pytest.raises(DataError, match="index is beyond the last"):
        old(2)
    with pytest.raises(DataError, match=r"Protobuf's compiler refuses .*: eosfw_schema\.proto:1"):
        stored_file("message {")


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        (struct({"a": array(STRING.as_optional())}), {"a": [None, "secret"]}, "field 'a' has a null in its array"),
        (struct({"a": STRING}), {"a": "secret\ud800"}, "half a character"),
        (struct({"c": COLOR}), {"c": "secret"}, "Protobuf refuses the value"),
        (struct({"c": CHOICE}), {"c": {"word": None, "number": None}}, "field 'c': Cannot find non-null field"),
    ],
)
def test_what_protobuf_cannot_hold_is_refused_without_the_value(schema: Schema, value: Any, why: str) -> None:
    """CNV-24: with the field where that is known."""
    with pytest.raises(DataError, match=why) as refused:
        encoder(PLAIN, schema).encode(value)
    assert "secret" not in str(refused.value)


def test_files_that_others_import_are_found_under_their_names() -> None:
    """CNV-24: in text and as descriptors; one that is missing is named."""
    base = 'syntax = "proto3"; package b; message B { int32 x = 1; }'
    main = 'syntax = "proto3"; import "b.proto"; message M { b.B b = 1; }'

    schema = connect_schema(ReadingRules(), message_at(stored_file(main, [("b.proto", base)]), (0,)))

    assert schema.field("b") is not None
    with pytest.raises(DataError, match=r"b\.proto"):
        stored_file(main)
    with pytest.raises(DataError, match="by a name that is none"):
        stored_file(main, [("../../b.proto", base)])
