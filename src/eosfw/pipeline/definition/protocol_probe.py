"""A probe of what protocol is spoken at an address that should be a Kafka broker's."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final

API_VERSIONS_REQUEST: Final = bytes.fromhex("0000000a 0012 0000 0d0a0d0a ffff")
"""An ApiVersions request, version 0, which every Kafka broker answers before authentication. Its correlation id is
`\\r\\n\\r\\n`, so that servers of protocols made of lines, such as HTTP, answer as well."""
_SIGN_LENGTH: Final = 9
"""Bytes of an answer that tell the protocol."""
_TIMEOUT: Final = 1.0
_SIGNS: Final = (
    (b"\x15\x03", "answers with TLS: set security.protocol=SSL or SASL_SSL, or name a listener without TLS"),
    (b"HTTP/", "answers with HTTP: this is a web server's port"),
    (b"<!DOCTYPE", "answers with HTTP: this is a web server's port"),
    (b"SSH-", "answers with SSH: this is no broker's port"),
)
_PLAIN: Final = ("", "PLAINTEXT", "SASL_PLAINTEXT")


def is_plaintext(properties: Mapping[str, str]) -> bool:
    """Whether a client with these properties would speak to a broker without TLS."""
    with_tls = "SSL://" in properties.get("bootstrap.servers", "")
    return not with_tls and properties.get("security.protocol", "").strip().upper() in _PLAIN


def foreign_protocol(connection: socket.socket) -> str | None:
    """Which protocol other than Kafka's is answered, in words that follow an address; else None.

    No answer is None, too: a broker may be slow, and the client has a timeout of its own.
    """
    connection.settimeout(_TIMEOUT)
    answer = b""
    try:
        connection.sendall(API_VERSIONS_REQUEST)
        while len(answer) < _SIGN_LENGTH and (more := connection.recv(_SIGN_LENGTH)):
            answer += more
    except OSError:  # no answer in time, or an error that the client will report
        pass
    return next((who for sign, who in _SIGNS if answer.startswith(sign)), None)
