"""Every version of every request that is advertised can be read, handled, answered."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import struct
import typing
import uuid
from io import BytesIO

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.client.transport.messages import flattener, format_of
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation, DisconnectClientError
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.codec import decode
from eosfw_memory.server.protocol.routes import ROUTES
from eosfw_memory.server.protocol.serializer import message_writer

from ..brokers import started

EACH_REQUEST = pytest.mark.parametrize("route", ROUTES.values(), ids=lambda route: route.module)
SIMPLE = {
    "string": "t",
    "bool": False,
    "uuid": uuid.UUID(int=7),
    "records": b"",
    "bytes": b"",
    "timedelta_i32": dt.timedelta(milliseconds=1),
    "timedelta_i64": dt.timedelta(milliseconds=1),
    "datetime_i64": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "error_code": ErrorCode.none,
}


def filled(schema: type, *, elements: int):
    """A message of this class with something in every field."""
    return schema(**{field.name: _value(field, elements) for field in dataclasses.fields(schema)})


def _value(field, elements):
    kind = field.metadata.get("kafka_type")
    classes = list(_classes(field.type))
    nested = next((each for each in classes if dataclasses.is_dataclass(each)), None)
    if "tuple[" in str(field.type):
        one = filled(nested, elements=elements) if nested else SIMPLE.get(kind, 0)
        return (one,) * elements
    return filled(nested, elements=elements) if nested else SIMPLE.get(kind, 0)


def _classes(kind):
    yield kind
    for arm in typing.get_args(kind):
        yield from _classes(arm)


def variants(route, elements=(0, 1, 2)):
    """Every version of a request, with so many elements in each list."""
    return itertools.product(range(route.min_version, route.max_version + 1), elements)


def sent(key: int, version: int, elements: int) -> bytes:
    """A request as kio writes it, with its header."""
    schema, out = load_request_schema(key, version), BytesIO()
    head = schema.__header_schema__
    entity_writer(head)(out, head(request_api_key=key, request_api_version=version, correlation_id=5, client_id="me"))
    entity_writer(schema)(out, filled(schema, elements=elements))
    return out.getvalue()


@EACH_REQUEST
def test_every_request_version_is_answered_in_its_schema(route):
    """CMP-01: a client of any age that Kafka 4 serves finds its version."""
    for version, elements in variants(route):
        broker, incoming = started(t=1), decode(sent(route.key, version, elements))
        if route.key == 0 and elements:
            with pytest.raises(DisconnectClientError):  # no bytes are no batch, and acks 0 wants no answer
                broker.serve(incoming.codec.handler, incoming.body, Context(version))
            continue
        answer = broker.serve(incoming.codec.handler, incoming.body, Context(version))
        if isinstance(answer, DelayedOperation):
            answer = broker.attempt(answer, expired=True)
        if route.key == 0:
            assert answer is None  # acks 0 wants none
            continue
        frame = b"".join(incoming.codec.encode(5, answer))
        response = load_response_schema(route.key, version)
        start = 4 + entity_reader(response.__header_schema__)(frame, 4)[1]
        _, size = entity_reader(response)(frame, start)
        assert start + size == len(frame), version


def test_codes_have_kafkas_names_and_numbers():
    assert {code.name: int(code) for code in Code} == {ErrorCode(int(code)).name.upper(): int(code) for code in Code}


@pytest.mark.parametrize("load", [load_request_schema, load_response_schema])
@EACH_REQUEST
def test_the_serializer_writes_the_same_bytes_as_kio(route, load):
    """CMP-01: our writer of trees against the generated message classes."""
    for version, elements in variants(route):
        schema, out, pieces = load(route.key, version), BytesIO(), []
        message = filled(schema, elements=elements)
        entity_writer(schema)(out, message)

        message_writer(schema)(flattener(schema)(message), pieces)

        assert b"".join(pieces) == out.getvalue(), (version, elements)


@EACH_REQUEST
def test_a_client_introduces_itself_as_kio_does(route):
    for version, elements in variants(route, [1]):
        schema, expected = load_request_schema(route.key, version), sent(route.key, version, elements)

        frame = format_of(route.key, version).frame(5, "me", Fields(**flattener(schema)(filled(schema, elements=1))))

        assert frame == len(expected).to_bytes(4, "big") + expected, version


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        ({"error_code": 0, "node_id": 1, "host": "h", "port": 1 << 40, "error_message": None}, struct.error),
        ({"error_code": 0, "node_id": 1, "port": 1, "host": None, "error_message": None}, ValueError),
        ({"error_code": 0, "node_id": 1, "port": 1, "host": "h" * 40_000, "error_message": None}, ValueError),
        ({"error_code": 0, "port": 1, "host": "h", "error_message": None}, struct.error),
    ],
    ids=["a number out of range", "null where there is none", "a text too long", "a field left out"],
)
def test_an_answer_that_a_version_cannot_carry_is_not_written(tree, complaint):
    with pytest.raises(complaint):
        message_writer(load_response_schema(10, 1))(tree, [])
