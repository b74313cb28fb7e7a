"""Unpack the records of a compressed batch, never beyond a given size."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from eosfw_memory.log.errors import CorruptMessageError, MessageTooLargeError, UnsupportedCompressionTypeError
from eosfw_memory.log.varints import read_unsigned

MAX_UNPACKED: Final = 64 << 20

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_BLOCKS: Final = 16
_GZIP_FORMAT: Final = 31

_Unpack = Callable[[bytes, int], bytes]
"""Gives at least one byte more than the limit where there is more."""


def unpack(compression: int, data: bytes, limit: int = MAX_UNPACKED) -> bytes:
    """The records as they were before compression; raise rather than grow beyond `limit` bytes."""
    if compression not in _CODECS:
        raise UnsupportedCompressionTypeError(f"compression type {compression} is unknown")
    name, codec = _CODECS[compression]
    try:
        plain = codec(data, limit)
    except (CorruptMessageError, MessageTooLargeError, UnsupportedCompressionTypeError):
        raise
    except Exception as wrong:
        # Each library has exceptions of its own, down to ValueError, EOFError and RuntimeError.
        raise CorruptMessageError(f"{name} records cannot be unpacked: {wrong}") from wrong
    if len(plain) > limit:
        raise _too_large(limit)
    return plain


def _gzip(data: bytes, limit: int) -> bytes:
    plain = bytearray()
    while data and len(plain) <= limit:  # a stream may have several members
        member = zlib.decompressobj(_GZIP_FORMAT)
        plain += member.decompress(data, limit + 1 - len(plain))
        if not member.eof and len(plain) <= limit:
            raise CorruptMessageError("gzip records end in the middle")
        data = member.unused_data
    return bytes(plain)


def _snappy(data: bytes, limit: int) -> bytes:
    """Java frames snappy's blocks as the xerial library does; librdkafka sends one bare block."""
    if not data.startswith(_XERIAL):
        return _snappy_block(data, limit)
    plain, position = bytearray(), _XERIAL_BLOCKS
    while position < len(data):
        size = int.from_bytes(data[position : position + 4])
        position += 4
        plain += _snappy_block(data[position : position + size], limit - len(plain))
        position += size
    return bytes(plain)


def _snappy_block(block: bytes, limit: int) -> bytes:
    declared, _ = read_unsigned(block, 0)
    if declared > limit:
        raise _too_large(limit)
    return bytes(_library("cramjam", "snappy").snappy.decompress_raw(block))


def _lz4(data: bytes, limit: int) -> bytes:
    plain: bytes = _library("lz4.frame", "lz4").LZ4FrameDecompressor().decompress(data, max_length=limit + 1)
    return plain


def _zstd(data: bytes, limit: int) -> bytes:
    with _library("zstandard", "zstd").ZstdDecompressor().stream_reader(data) as stream:
        plain: bytes = stream.read(limit + 1)
        return plain


def _library(module: str, name: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        distribution = module.partition(".")[0]
        raise UnsupportedCompressionTypeError(
            f"{name} records cannot be unpacked without {distribution}. Try: pip install {distribution}"
        ) from None


def _too_large(limit: int) -> MessageTooLargeError:
    return MessageTooLargeError(f"the records of a batch unpack to more than {limit} bytes")


_CODECS: Final[Mapping[int, tuple[str, _Unpack]]] = {
    1: ("gzip", _gzip),
    2: ("snappy", _snappy),
    3: ("lz4", _lz4),
    4: ("zstd", _zstd),
}
"""By Kafka's numbers."""
