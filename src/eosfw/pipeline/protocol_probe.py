"""Recognise who answers at an address that should be a Kafka broker's."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final

API_VERSIONS_REQUEST: Final = bytes.fromhex("0000000a 0012 0000 0d0a0d0a ffff")
"""The request that any Kafka broker answers, authenticated or not. Its correlation id is two ends of lines, so that who
reads lines answers as well."""
_ENOUGH: Final = 9
"""Bytes of an answer that tell."""
_PATIENCE: Final = 1.0
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
    """What answers here that is no Kafka, in words that follow its address; None for Kafka, and for who says nothing.

    A broker may be slow: whether it answers in time is the client's to judge.
    """
    connection.settimeout(_PATIENCE)
    answer = b""
    try:
        connection.sendall(API_VERSIONS_REQUEST)
        while len(answer) < _ENOUGH and (more := connection.recv(_ENOUGH)):
            answer += more
    except OSError:  # silence, or whatever the client will meet as well
        pass
    return next((who for sign, who in _SIGNS if answer.startswith(sign)), None)
