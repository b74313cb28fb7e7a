"""Declared sizes are compared with the request's bytes before memory is allocated."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from kio.index import load_request_schema

from eosfw_memory.server.protocol.bounds_check import MAX_ELEMENTS, check_body, check_header
from eosfw_memory.server.protocol.codec import RequestError, decode
from eosfw_memory.storage.records.varints import encoded_unsigned

from .test_every_version import EACH_REQUEST, sent, variants


def header(key: int, version: int, *, flexible: bool = False) -> bytes:
    return struct.pack(">hhih", key, version, 1, -1) + (b"\0" if flexible else b"")


MANY = MAX_ELEMENTS + 1
LIES = {
    "array of 2^31-1": header(3, 1) + struct.pack(">i", 2**31 - 1),
    "compact array of 2^32-2": header(3, 12, flexible=True) + encoded_unsigned(2**32 - 1),
    "array of arrays": header(24, 1) + struct.pack(">hqhi", 0, 1, 0, 1) + struct.pack(">h1si", 1, b"a", 2**30),
    "null array where there is none": header(0, 3) + struct.pack(">hhii", -1, -1, 1000, -1),
    "20 million tagged fields of the header": struct.pack(">hhih", 3, 12, 1, -1) + encoded_unsigned(20_000_000),
    "20 million tagged fields of the body": header(18, 3, flexible=True) + b"\1\1" + encoded_unsigned(20_000_000),
    "tagged field beyond the end": header(18, 3, flexible=True) + b"\1\1\1\0" + encoded_unsigned(2**31),
    "bytes beyond the end": header(0, 3) + struct.pack(">hhiih1siii", -1, -1, 1, 1, 1, b"a", 1, 0, 2**31 - 1),
    "compact string beyond the end": header(3, 12, flexible=True) + b"\2" + bytes(16) + encoded_unsigned(2**31),
    "length of more than 32 bits": header(3, 12, flexible=True) + b"\xff" * 9 + b"\1",
    "more elements than anybody needs": header(3, 1) + struct.pack(">i", MANY) + bytes(2 * MANY),
    "a million partitions": header(24, 1)
    + struct.pack(">hqhi", 0, 1, 0, 1)
    + struct.pack(">h1si", 1, b"a", MANY)
    + bytes(4 * MANY),
    "cut off in a number": header(0, 3) + struct.pack(">hhH", -1, -1, 1),
}


@pytest.mark.parametrize("frame", LIES.values(), ids=LIES)
def test_a_false_size_allocates_no_memory(frame):
    with pytest.raises(RequestError):
        decode(header(24, 1))  # so that loading a schema does not count
    with pytest.raises(RequestError):
        decode(frame)
    tracemalloc.start()
    with pytest.raises(RequestError):
        decode(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1 << 20


@EACH_REQUEST
def test_a_request_that_is_cut_off_anywhere_is_refused(route):
    """The walk over a request finds the same end as its reader, in every version."""
    for version, elements in variants(route, [2]):
        schema, frame = load_request_schema(route.key, version), sent(route.key, version, elements)

        check_body(frame, check_header(frame, schema), schema)
        for end in range(4, len(frame)):
            with pytest.raises(RequestError):
                decode(frame[:end])


def test_an_overlong_null_length_is_consumed_whole():
    """A count behind a text that is null in more bytes than it needs is read from where it stands."""
    data = bytes.fromhex("0000000c000000050002006580008000000000000001000000")
    with pytest.raises(RequestError, match="array"):
        decode(data)
