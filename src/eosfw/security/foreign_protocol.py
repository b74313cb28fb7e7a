"""The protocol that a server speaks which does not answer as Kafka does."""

from __future__ import annotations

import socket
from typing import Final

API_VERSIONS_REQUEST: Final = bytes.fromhex("0000000a 0012 0000 0d0a0d0a ffff")
"""An ApiVersions request, version 0, which every Kafka broker answers before authentication. Its correlation id is
`\\r\\n\\r\\n`, so that servers of protocols made of lines, such as HTTP, answer as well."""
_SIGN_LENGTH: Final = 9
"""Bytes of an answer that tell the protocol."""
_TIMEOUT: Final = 1.0
_TLS: Final = b"\x15\x03"
_SIGNS: Final = (
    (_TLS, "answers with TLS: set security.protocol=SSL or SASL_SSL, or name a listener without TLS"),
    (b"HTTP/", "answers with HTTP: this is a web server's port"),
    (b"<!DOCTYPE", "answers with HTTP: this is a web server's port"),
    (b"SSH-", "answers with SSH: this is no broker's port"),
)


def first_bytes(connection: socket.socket, timeout: float = _TIMEOUT) -> bytes:
    """The beginning of the answer to a request that every broker answers; what came within so many seconds."""
    connection.settimeout(timeout)
    answer = b""
    try:
        connection.sendall(API_VERSIONS_REQUEST)
        while len(answer) < _SIGN_LENGTH and (more := connection.recv(_SIGN_LENGTH)):
            answer += more
    except OSError:  # no answer in time, or an error that the client will report
        pass
    return answer


def is_tls(answer: bytes) -> bool:
    """Whether an answer is an alert of TLS."""
    return answer.startswith(_TLS)


def is_kafka(answer: bytes) -> bool:
    """Whether an answer is Kafka's, without TLS."""
    return answer[4:8] == API_VERSIONS_REQUEST[8:12]


def protocol_of(answer: bytes) -> str | None:
    """Which protocol other than Kafka's is answered, in words that follow an address; else None.

    No answer is None, too: a broker may be slow, and the client has a timeout of its own.
    """
    return next((who for sign, who in _SIGNS if answer.startswith(sign)), None)
