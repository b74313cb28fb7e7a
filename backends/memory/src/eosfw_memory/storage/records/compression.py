"""Unpack the records of a compressed batch, never beyond a given size."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from eosfw_memory.common.log_errors import CorruptMessageError, MessageTooLargeError, UnsupportedCompressionTypeError
from eosfw_memory.storage.records.varints import read_unsigned

# A few kilobytes can unpack to gigabytes: no batch may fill the memory of the process.
MAX_UNPACKED: Final = 64 << 20
LZ4: Final = 3

_XERIAL: Final = b"\x82SNAPPY\x00"
# Behind the name stand two version numbers of four bytes each.
_XERIAL_BLOCKS: Final = 16
# zlib's `wbits`: 16 for gzip's header and trailer, 15 for the largest window.
_GZIP_FORMAT: Final = 31
_GZIP_MEMBER: Final = b"\x1f\x8b"
# The byte behind the frame's magic number, and its bit for blocks that do not depend on each other.
_LZ4_FLAGS, _LZ4_INDEPENDENT = 4, 0x20
_GZIP_PIECE: Final = 4096
"""Bytes unpacked at once, of which those behind a member are copied: a batch may have thousands of members."""
_ZSTD_PIECE: Final = 256
"""Compressed bytes unpacked at once: 4 of them may stand for 128 KiB, and nothing else bounds one step."""

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


def is_for_all(compression: int, data: bytes) -> bool:
    """Whether every client can unpack this: Java's lz4 reads only blocks that are independent of each other."""
    return compression != LZ4 or len(data) <= _LZ4_FLAGS or bool(data[_LZ4_FLAGS] & _LZ4_INDEPENDENT)


def _gzip(data: bytes, limit: int) -> bytes:
    """A stream may have several members; what else comes behind them is ignored, as Java does."""
    plain, at = bytearray(), 0
    while not at or data.startswith(_GZIP_MEMBER, at):
        member = zlib.decompressobj(_GZIP_FORMAT)
        while not member.eof:
            piece = data[at : at + _GZIP_PIECE]
            if not piece:
                raise CorruptMessageError("gzip records end in the middle")
            # One byte above the limit is enough to know that there is too much.
            plain += member.decompress(piece, limit + 1 - len(plain))
            if len(plain) > limit:
                return bytes(plain)
            at += len(piece) - len(member.unused_data)
    return bytes(plain)


def _snappy(data: bytes, limit: int) -> bytes:
    """Java frames snappy's blocks as the xerial library does; librdkafka sends one bare block."""
    if not data.startswith(_XERIAL):
        return _snappy_block(data, limit)
    if len(data) < _XERIAL_BLOCKS:
        raise CorruptMessageError("snappy records end within their header")
    plain, position = bytearray(), _XERIAL_BLOCKS
    while position < len(data):
        size = int.from_bytes(data[position : position + 4])
        position += 4
        plain += _snappy_block(data[position : position + size], limit - len(plain))
        position += size
    return bytes(plain)


def _snappy_block(block: bytes, limit: int) -> bytes:
    declared, _ = read_unsigned(block, 0)
    # Before the library is called, since it allocates as much as the block declares.
    if declared > limit:
        raise _too_large(limit)
    return bytes(_library("cramjam", "snappy").snappy.decompress_raw(block))


def _lz4(data: bytes, limit: int) -> bytes:
    frame = _library("lz4.frame", "lz4").LZ4FrameDecompressor()
    plain: bytes = frame.decompress(data, max_length=limit + 1)
    if not frame.eof and len(plain) <= limit:
        raise CorruptMessageError("lz4 records end in the middle")
    return plain


def _zstd(data: bytes, limit: int) -> bytes:
    """A stream may have several frames."""
    plain, at, unpacker = bytearray(), 0, _library("zstandard", "zstd").ZstdDecompressor()
    while at < len(data):
        frame = unpacker.decompressobj()
        while not frame.eof:
            piece = data[at : at + _ZSTD_PIECE]
            if not piece:
                raise CorruptMessageError("zstd records end in the middle")
            plain += frame.decompress(piece)
            if len(plain) > limit:
                return bytes(plain)
            at += len(piece) - len(frame.unused_data)
    return bytes(plain)


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
    LZ4: ("lz4", _lz4),
    4: ("zstd", _zstd),
}
"""By Kafka's numbers."""
