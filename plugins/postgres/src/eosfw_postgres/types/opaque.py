"""Bytes, bit strings, points and hstore."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from struct import Struct
from typing import Any

from eosfw.data import BYTES, STRING, Schema, map_of
from eosfw.errors import DataError
from eosfw_postgres.types.schemas import JSON

__all__ = ["binary_schema", "bits_of", "bytes_of", "hstore_json", "hstore_map", "hstore_schema", "point", "shown_bytes"]

_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|(NULL))(?:, |$)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WKB_POINT = Struct("<BIdd")


def binary_schema(mode: str) -> Schema:
    """The schema of bytes."""
    return BYTES if mode == "bytes" else STRING


def shown_bytes(mode: str) -> Callable[[bytes], Any]:
    """How bytes are shown."""
    modes: dict[str, Callable[[bytes], Any]] = {
        "bytes": bytes,
        "hex": bytes.hex,
        "base64": lambda data: base64.b64encode(data).decode(),
        "base64-url-safe": lambda data: base64.urlsafe_b64encode(data).decode(),
    }
    return modes[mode]


def bytes_of(text: str) -> bytes:
    """The bytes of bytea's text; DataError unless it is that of `bytea_output = hex`."""
    if text[:2] != "\\x":
        raise DataError("a bytea has no text of bytea_output = hex")
    return bytes.fromhex(text[2:])


def bits_of(text: str) -> bytes:
    """A bit string as bytes, the lowest first and none for zeros at its start."""
    number = int(text, 2) if text else 0
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def point(text: str) -> dict[str, Any]:
    """A point with its form in well-known binary."""
    x, y = map(float, text[1:-1].split(","))
    return {"x": x, "y": y, "wkb": _WKB_POINT.pack(1, 1, x, y), "srid": None}


def hstore_schema(mode: str) -> Schema:
    """The schema of hstore."""
    return JSON if mode == "json" else map_of(STRING, STRING.as_optional())


def hstore_map(text: str) -> dict[str, str | None]:
    """The pairs of an hstore; DataError for what is none."""
    found, at = {}, 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None:
            raise DataError("a value is no text of an hstore")
        key, value, null = pair.groups()
        found[_ESCAPED.sub(r"\1", key)] = None if null else _ESCAPED.sub(r"\1", value)
        at = pair.end()
    return found


def hstore_json(text: str) -> str:
    """An hstore as text of JSON."""
    return json.dumps(hstore_map(text), ensure_ascii=False, separators=(",", ":"))
