"""Texts as bytes, and back, as Java encodes them."""

from __future__ import annotations

import codecs

from eosfw.errors import DataError

__all__ = ["decoded_text", "encoded_text"]

_BIG_ENDIAN = {"utf-16": ("utf-16-be", codecs.BOM_UTF16_BE), "utf-32": ("utf-32-be", b"")}
"""Encodings that have the byte order of the machine in Python; in Java they are big-endian, behind these bytes."""
_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le")),
    "utf-32": ((codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF32_LE, "utf-32-le")),
}
"""Byte order marks with what they say."""


def encoded_text(text: str, encoding: str) -> bytes:
    """The bytes of a text; DataError, without the text, for a character that the encoding does not have."""
    codec, mark = _BIG_ENDIAN.get(encoding, (encoding, b""))
    try:
        encoded = text.encode(codec)
    except UnicodeEncodeError as why:
        raise DataError(f"it is text whose character {why.start + 1} cannot be written in {encoding}") from None
    return mark + encoded if mark and text else encoded


def decoded_text(data: bytes, encoding: str) -> str:
    """The text of bytes; U+FFFD stands for what is none in this encoding."""
    for mark, codec in _MARKS.get(encoding, ()):
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    return data.decode(_BIG_ENDIAN.get(encoding, (encoding,))[0], "replace")
