"""How Protobuf becomes typed columns."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from tests.schema_registry.http_registry import SchemaRegistry

from eosfw_spark.formats.protobuf.format import read_descriptors, read_stored
from eosfw_spark.formats.registry import StoredSchema
from eosfw_spark.formats.typed_columns import decode_column

EVERY = """
name: "every.proto" package: "shop" syntax: "proto3"
dependency: ["google/protobuf/timestamp.proto", "google/protobuf/duration.proto", "google/protobuf/wrappers.proto",
  "google/protobuf/struct.proto"]
enum_type { name: "Suit" value { name: "A" number: 0 } value { name: "B" number: 1 } }
message_type {
  name: "Order"
  field { name: "id" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "count" number: 2 type: TYPE_UINT32 label: LABEL_OPTIONAL }
  field { name: "big" number: 3 type: TYPE_UINT64 label: LABEL_OPTIONAL }
  field { name: "text" number: 4 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "data" number: 5 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "suit" number: 6 type: TYPE_ENUM type_name: ".shop.Suit" label: LABEL_OPTIONAL }
  field { name: "at" number: 7 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "took" number: 8 type: TYPE_MESSAGE type_name: ".google.protobuf.Duration" label: LABEL_OPTIONAL }
  field { name: "maybe" number: 9 type: TYPE_MESSAGE type_name: ".google.protobuf.Int64Value" label: LABEL_OPTIONAL }
  field { name: "any" number: 10 type: TYPE_MESSAGE type_name: ".google.protobuf.Struct" label: LABEL_OPTIONAL }
  field { name: "place" number: 11 type: TYPE_MESSAGE type_name: ".shop.Order.Place" label: LABEL_OPTIONAL }
  field { name: "tags" number: 12 type: TYPE_STRING label: LABEL_REPEATED }
  field { name: "prices" number: 13 type: TYPE_MESSAGE type_name: ".shop.Order.PricesEntry" label: LABEL_REPEATED }
  field { name: "opt" number: 14 type: TYPE_INT32 label: LABEL_OPTIONAL proto3_optional: true oneof_index: 0 }
  nested_type { name: "Place" field { name: "city" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }
  nested_type {
    name: "PricesEntry"
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
    options { map_entry: true }
  }
  oneof_decl { name: "_opt" }
}
"""
ORDER_1 = """
name: "order.proto" package: "shop" syntax: "proto3"
message_type { name: "Other" }
message_type {
  name: "Order"
  field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "gone" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
}
"""
ORDER_2 = ORDER_1.replace('"gone" number: 2', '"note" number: 3').replace('"id"', '"number"')
FULL = """
id: 1 count: 4294967295 big: 18446744073709551615 text: "ø" data: "\\000\\377" suit: B
at { seconds: 1706702400 nanos: 123456789 } took { seconds: -1 nanos: -500000000 } maybe { value: 0 }
any { fields { key: "a" value { bool_value: true } } } place { city: "Bern" } tags: "x" tags: "y"
prices { key: "p" value: 0.5 } opt: 0
"""


def file_of(text: str) -> descriptor_pb2.FileDescriptorProto:
    return text_format.Parse(text, descriptor_pb2.FileDescriptorProto())


def serialized(text: str) -> str:
    """As a registry answers with format=serialized."""
    return base64.standard_b64encode(file_of(text).SerializeToString()).decode()


def message_of(text: str, name: str, content: str) -> bytes:
    from google.protobuf import duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2  # noqa: F401 - for the pool

    pool = descriptor_pool.DescriptorPool()
    for each in file_of(text).dependency:
        known = descriptor_pb2.FileDescriptorProto()
        descriptor_pool.Default().FindFileByName(each).CopyToProto(known)
        pool.Add(known)
    pool.Add(file_of(text))
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
    return text_format.Parse(content, made).SerializeToString()  # type: ignore[no-any-return]


def decoded(described: Any, *values: bytes | None) -> list[Any]:
    column, failures = decode_column(pa.array(values, pa.binary()), described.deserializer())
    return [str(failures[row]) if row in failures else value for row, value in enumerate(column.to_pylist())]


def test_every_type_of_protobuf_is_a_column() -> None:
    """CNV-33, CNV-37: what has no presence has its default, what has is null where it is missing."""
    described = read_descriptors(descriptor_file(EVERY), "shop.Order", prefixed=False)

    found, empty, tombstone = decoded(described, message_of(EVERY, "shop.Order", FULL), b"", None)

    assert found == {
        "id": 1,
        "count": 4294967295,
        "big": Decimal(18446744073709551615),
        "text": "ø",
        "data": b"\0\xff",
        "suit": "B",
        "at": datetime(2024, 1, 31, 12, 0, 0, 123456, UTC),
        "took": timedelta(seconds=-1.5),
        "maybe": 0,
        "any": '{"a": true}',
        "place": {"city": "Bern"},
        "tags": ["x", "y"],
        "prices": [("p", 0.5)],
        "opt": 0,
    }
    missing = dict.fromkeys(("at", "took", "maybe", "any", "place", "opt"))
    defaults = {"id": 0, "count": 0, "big": Decimal(0), "text": "", "data": b"", "suit": "A", "tags": [], "prices": []}
    assert (empty, tombstone) == ({**defaults, **missing}, None)


def test_a_message_is_resolved_by_the_numbers_of_its_fields(registry: SchemaRegistry) -> None:
    """CNV-34: a message of another name does not decode, though its bytes would."""
    old, new = (registry.add("t-value", serialized(each), "PROTOBUF") for each in (ORDER_1, ORDER_2))
    data = message_of(ORDER_1, "shop.Order", 'id: 7 gone: "x"')
    prefix = b"\0" + old.to_bytes(4, "big")
    described = read_stored(
        StoredSchema(serialized(ORDER_2), "PROTOBUF", number=new), "shop.Order", {"url": registry.url}
    )

    found = decoded(
        described, prefix + b"\2\2" + data, prefix + b"\0", prefix + b"\2\4", b"\0\0\0\0\x63\0", prefix + b"\x80"
    )

    assert found == [
        {"number": 7, "note": ""},
        "its message is shop.Other, not shop.Order",
        "its message is none of its schema, not shop.Order",
        f"its schema, 99, is not in the schema registry at {registry.url}",
        "the index of its Protobuf message is damaged",
    ]


def descriptor_file(*texts: str) -> bytes:
    return descriptor_pb2.FileDescriptorSet(file=[file_of(each) for each in texts]).SerializeToString()


def test_the_message_may_come_from_a_descriptor_file(tmp_path: Path) -> None:
    """CNV-33: bytes that no registry knows have no prefix."""
    described = read_descriptors(descriptor_file(ORDER_1), "shop.Order", prefixed=False)

    assert decoded(described, b"\x08\x07", b"\x08") == [{"id": 7, "gone": ""}, "it is no message shop.Order"]
    assert read_descriptors(descriptor_file(EVERY), None, prefixed=False).message == "shop.Order"


def test_with_a_descriptor_file_no_registry_is_asked() -> None:
    """CNV-33: not every registry writes descriptors; the index behind the id says which message of the file it is."""
    described = read_descriptors(descriptor_file(ORDER_1), "shop.Order", prefixed=True)
    prefix = b"\0\0\0\0\x07"

    assert decoded(described, prefix + b"\2\2\x08\x07", prefix + b"\0\x08\x07", b"\x08\x07") == [
        {"id": 7, "gone": ""},
        "its message is shop.Other, not shop.Order",
        "it does not begin with the id of a schema of a registry",
    ]
    with pytest.raises(
        ValueError, match=r"is no descriptor: the registry knows no format=serialized; give value\.desc"
    ):
        read_stored(StoredSchema('syntax = "proto3"; message M {}', "PROTOBUF"), None, {})


LOOP = """
name: "loop.proto" syntax: "proto3"
message_type { name: "Node"
  field { name: "next" number: 1 type: TYPE_MESSAGE type_name: ".Node" label: LABEL_OPTIONAL } }
"""


@pytest.mark.parametrize(
    ("content", "message", "reason"),
    [
        (b"\xff", None, "is no descriptor file; write one with protoc"),
        (b"", None, "is no descriptor file"),
        (descriptor_file(ORDER_1), None, "has several messages: name one with value.message.name"),
        (descriptor_file(ORDER_1), "Order", "has no message Order; write its name with its package"),
        (descriptor_file(LOOP), None, "has the message Node within itself"),
        (descriptor_file('name: "a" dependency: "b.proto"'), None, "imports b.proto, which is missing"),
    ],
)
def test_a_descriptor_without_columns_is_named(content: bytes, message: str | None, reason: str) -> None:
    """CNV-38."""
    with pytest.raises(ValueError, match=r"^(is|has|imports) ") as refused:
        read_descriptors(content, message, prefixed=False)

    assert reason in str(refused.value)
