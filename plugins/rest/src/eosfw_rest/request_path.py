"""Which paths are unambiguous: each has one meaning for whoever authenticates, routes and signs it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LONGEST: Final = 4096


def normalised_path(raw: str) -> str:
    """The path without its last slash, decoded; only for a path without a problem."""
    decoded = unquote_to_bytes(raw).decode("utf-8")
    return decoded.rstrip("/") or "/"


def path_problem(raw: str) -> str | None:
    """Why a path that a client sent is refused; None if there is no reason."""
    if not raw.startswith("/"):
        return "Ambiguous URI: no absolute path"
    if len(raw) > _LONGEST:
        return f"URI longer than {_LONGEST} characters"
    if "//" in raw:
        return "Ambiguous URI empty segment"
    if ";" in raw:
        return "Ambiguous URI path parameter"
    if _ESCAPE.search(raw):
        return "Bad percent-encoding in URI"
    return _decoded_problem(raw)


def _decoded_problem(raw: str) -> str | None:
    segments = [unquote_to_bytes(segment) for segment in raw.split("/")]
    if any(segment in (b".", b"..") for segment in segments):
        return "Ambiguous URI path segment"
    if any(b"/" in segment or b"\\" in segment for segment in segments):
        return "Ambiguous URI path separator"
    try:
        text = b"/".join(segments).decode("utf-8")
    except UnicodeDecodeError:
        return "URI is no UTF-8"
    return None if text.isprintable() else "Illegal control character in URI"
