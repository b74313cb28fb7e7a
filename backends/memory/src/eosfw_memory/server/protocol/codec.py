"""Read requests from frames, write answers as frames; Kafka's `RequestContext`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader

from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Handler
from eosfw_memory.server.protocol.bounds_check import check_body, check_header
from eosfw_memory.server.protocol.handlers import handler_of
from eosfw_memory.server.protocol.routes import API_VERSIONS, ROUTES
from eosfw_memory.server.protocol.serializer import MessageWriter, message_writer
from eosfw_memory.server.quotas.request_quota import RequestQuota
from eosfw_memory.storage.records.batch import Buffer

# Api key, version, correlation id of a request; length and correlation id of an answer.
_START = struct.Struct(">hhi")
_PREFIX = struct.Struct(">ii")
_CORRELATION_BYTES = 4
_START_BYTES = 1 << 15
"""Enough for the header of a request with the longest name of a client."""


class RequestError(Exception):
    """A frame is no request that this broker can read; as in Kafka the connection is closed."""


class UnsupportedRequestError(RequestError):
    """A request, or a version of one, that this broker does not serve."""

    def __init__(self, key: int, version: int, frame: Buffer, what: str) -> None:
        super().__init__(what)
        self.key = key
        self.version = version
        self.start = bytes(frame[:_START_BYTES])
        """The beginning of the frame, where the name of the client stands."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How one version of one request is read, handled, answered."""

    key: int
    version: int
    handler: Handler
    schema: type
    response_schema: type
    read_header: Any
    read_body: Any
    write_body: MessageWriter
    flexible_answer: bool

    def body(self, frame: Buffer, at: int) -> Any:
        """The body of a frame whose header ends at a position; raises RequestError."""
        # Bytes behind the body are ignored, as in Kafka: librdkafka leaves three behind a request for all topics.
        try:
            check_body(frame, at, self.schema)
            return self.read_body(frame, at)[0]
        except Exception as wrong:  # kio raises many kinds of errors for bytes that are no message
            raise self._unreadable(wrong) from wrong

    def header(self, frame: Buffer) -> tuple[str, int]:
        """The client's name, and the position where the header ends; raises RequestError."""
        try:
            check_header(frame, self.schema)
            header, at = self.read_header(frame, 0)
        except Exception as wrong:
            raise self._unreadable(wrong) from wrong
        return getattr(header, "client_id", None) or "", at

    def _unreadable(self, wrong: Exception) -> RequestError:
        return RequestError(f"request {self.key} version {self.version} cannot be read: {wrong}")

    def encode(self, correlation_id: int, answer: Answer) -> Sequence[Buffer]:
        """The frame of an answer, in pieces."""
        # The first piece is filled last, with the length. The zero byte stands for no tagged fields in the header.
        pieces: list[Buffer] = [b"", b"\0" if self.flexible_answer else b""]
        self.write_body(answer, pieces)
        pieces[0] = _PREFIX.pack(sum(map(len, pieces)) + _CORRELATION_BYTES, correlation_id)
        return pieces


class DecodedRequest(NamedTuple):
    """A request as its handler gets it, with the means to answer it."""

    codec: Codec
    correlation_id: int
    body: Any
    client_id: str = ""
    quota: RequestQuota | None = None
    """What it costs; None where nobody has a quota."""


@cache
def codec(key: int, version: int) -> Codec:
    """The codec of one version of a request; its schemas are loaded when first needed."""
    request, response = load_request_schema(key, version), load_response_schema(key, version)
    return Codec(
        key,
        version,
        handler_of(key),
        request,
        response,
        entity_reader(request.__header_schema__),
        entity_reader(request),
        message_writer(response),
        bool(response.__header_schema__.__flexible__),
    )


def decode(frame: Buffer) -> DecodedRequest:
    """Read a frame; raise RequestError when it is no request this broker serves."""
    if len(frame) < _START.size:
        raise RequestError(f"a request of {len(frame)} bytes has no header")
    key, version, correlation_id = _START.unpack_from(frame)
    route = ROUTES.get(key)
    if route is None:
        raise UnsupportedRequestError(key, version, frame, f"request {key} is not served")
    if route.min_version <= version <= route.max_version:
        found = codec(key, version)
        client_id, at = found.header(frame)
        return DecodedRequest(found, correlation_id, found.body(frame, at), client_id)
    # ApiVersions in a newer version is answered in version 0 (KIP-511); no other request is guessed.
    if key == API_VERSIONS:
        return DecodedRequest(codec(key, 0), correlation_id, None)
    raise UnsupportedRequestError(key, version, frame, f"version {version} of request {key} is not served")
