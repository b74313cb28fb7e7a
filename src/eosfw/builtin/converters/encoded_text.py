"""Texts as bytes."""

from __future__ import annotations

from eosfw.errors import DataError

__all__ = ["encoded_text"]


def encoded_text(text: str, encoding: str) -> bytes:
    """The bytes of a text; DataError, without the text, for a character that the encoding does not have."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as why:
        raise DataError(f"it is text whose character {why.start + 1} cannot be written in {encoding}") from None
