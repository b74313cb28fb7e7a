"""Build batches byte by byte, as no honest client does."""

from __future__ import annotations

import gzip
import struct
import time
from collections.abc import Callable
from importlib import import_module

from crc32c import crc32c

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.storage.records.batch import HEADER, LENGTH_END
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.varints import encoded

NOW = int(time.time() * 1000)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
_FIELDS = ["base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_delta", "first", "newest"]
_FIELDS += ["producer_id", "epoch", "sequence", "records"]


def patched(data: bytes, **changes: int) -> bytes:
    """A batch with changed header fields and a correct checksum."""
    values = dict(zip(_FIELDS, HEADER.unpack_from(data), strict=True)) | changes
    head = HEADER.pack(*values.values())
    if "crc" not in changes:
        values["crc"] = crc32c(head[21:] + data[HEADER.size :])
        head = HEADER.pack(*values.values())
    return head + data[HEADER.size :]


def record(
    *,
    stamp: int = 0,
    offset: int = 0,
    key: bytes = b"\1",
    value: bytes = b"\2v",
    headers: bytes = b"\0",
    attributes: int = 0,
    size: int | None = None,
) -> bytes:
    """One record from encoded key, value and headers, which may be invalid."""
    body = bytes((attributes,)) + encoded(stamp) + encoded(offset) + key + value + headers
    return encoded(len(body) if size is None else size) + body


def batch(*records: bytes, kind: int = 0, pack: Callable[[bytes], bytes] = bytes, **header: int) -> bytes:
    """A batch of these records, packed; `header` is what it declares otherwise."""
    body = pack(b"".join(records))
    start = encode_batch(None, [b""] * len(records), NOW)[: HEADER.size]
    return patched(start + body, **{"length": HEADER.size + len(body) - LENGTH_END, "attributes": kind} | header)


def one(**header: int) -> bytes:
    """A batch of one good record of no producer."""
    return batch(record(), **header)


def idempotent(producer_id: int, epoch: int = 0, sequence: int = 0, *, transactional: bool = False) -> bytes:
    """A batch of one good record of a producer."""
    made = encode_batch(None, [b"v"], NOW, producer=ProducerIdAndEpoch(7, 0), base_sequence=0)
    return patched(
        made, producer_id=producer_id, epoch=epoch, sequence=sequence, attributes=0x10 if transactional else 0
    )


def xerial(data: bytes) -> bytes:
    """Snappy as Java frames it."""
    block = pack_snappy(data)
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


def pack_snappy(data: bytes) -> bytes:
    return bytes(import_module("cramjam").snappy.compress_raw(data))


def pack_lz4(data: bytes) -> bytes:
    return bytes(import_module("lz4.frame").compress(data))


def pack_zstd(data: bytes) -> bytes:
    return bytes(import_module("zstandard").compress(data))


PACKERS: dict[int, Callable[[bytes], bytes]] = {
    GZIP: gzip.compress,
    SNAPPY: pack_snappy,
    LZ4: pack_lz4,
    ZSTD: pack_zstd,
}
