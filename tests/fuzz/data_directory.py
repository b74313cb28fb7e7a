"""Start on a data directory with one changed file."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

from crc32c import crc32c
from tests.broker.log.log_harness import Writer
from tests.broker.storage.data_directory_harness import NODE, SMALL, TOPIC, DataDirectoryHarness, log_facts

from eosfw_memory.common.log_errors import LogError
from eosfw_memory.storage.files.checksummed_file import encode_framed
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.files.segments.segment_index import KIND as INDEX_KIND
from eosfw_memory.storage.files.topic_storage import StoredTopic

_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_LENGTH_AT, _CRC_AT, _COVERED_FROM = 8, 17, 21
_IN_MEMORY = Path("/dev/shm")

Directory = dict[str, bytes]
"""The files of a data directory, by their names."""


@cache
def stopped() -> Directory:
    """A directory whose broker stopped cleanly: segments, indexes, snapshots, everything beside them."""
    return _made(DataDirectoryHarness.stop)


@cache
def killed() -> Directory:
    """The same after a kill: the last segment has nothing beside it."""
    return _made(DataDirectoryHarness.crash)


def _made(end: Callable[[DataDirectoryHarness], None]) -> Directory:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        _with_a_topic(root)
        house = DataDirectoryHarness(root)
        first, second = Writer(house.log, 1), Writer(house.log, 2)
        for number in range(6):
            first.send(b"a%d" % number)
            if number % 2:
                first.abort() if number % 4 == 1 else first.commit()
        second.send(b"open")
        house.log.delete_before(1)
        house.log.mark_cleaned(2)
        next(house.storage.producer_ids)
        house.topics.alter(house.topics.by_name(TOPIC), {**SMALL, "retention.ms": "-1"})
        end(house)
        found = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != ".lock"]
        return {str(path.relative_to(root)): path.read_bytes() for path in found}


def _with_a_topic(root: Path) -> None:
    """A topic whose id is the same in each run, since samples name it."""
    storage = DataDirectory.open(root, waits=False, node_id=NODE)
    storage.create(StoredTopic(TOPIC, UUID(int=7), 1, SMALL))
    storage.close({})


class Start:
    """What becomes of a start when the file that the first byte chooses holds the other bytes."""

    def __init__(self, directory: Callable[[], Directory], suffixes: Iterable[str]) -> None:
        self._directory = directory
        self._suffixes = tuple(suffixes)

    def names(self) -> list[str]:
        """The files of which one is changed."""
        return [name for name in self._directory() if Path(name).suffix in self._suffixes]

    def samples(self) -> list[bytes]:
        """The files as they were written, by today's code."""
        directory = self._directory()
        return [bytes([number]) + directory[name] for number, name in enumerate(self.names())]

    def __call__(self, data: bytes) -> Hashable:
        names = self.names()
        changed = names[data[0] % len(names)] if data else names[0]
        with TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as folder, _silence():
            root = Path(folder)
            (root / f"{TOPIC}-0").mkdir()
            for name, content in (self._directory() | {changed: data[1:]}).items():
                (root / name).write_bytes(content)
            first, second = _found(root), _found(root)
        assert first == second, "a second start found something else"
        return len(str(first)) // 256  # finer, everything would be worth keeping


@contextmanager
def _silence() -> Iterator[None]:
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _found(root: Path) -> object:
    """What a start finds; whatever a reader is refused is part of it."""
    house = DataDirectoryHarness(root)
    try:
        return log_facts(house.log)
    except LogError as why:
        return str(why).replace(str(root), "")
    finally:
        house.crash()


# --- checksums that fit


def with_checksums(data: bytes) -> bytes:
    """A segment in which every batch that can be told from the next has the checksum that fits."""
    fixed, at = bytearray(data), 1
    while at + _COVERED_FROM <= len(fixed):
        size = _LENGTH.unpack_from(fixed, at + _LENGTH_AT)[0] + _LENGTH_AT + _LENGTH.size
        if not _COVERED_FROM < size <= len(fixed) - at:
            break
        _CRC.pack_into(fixed, at + _CRC_AT, crc32c(bytes(fixed[at + _COVERED_FROM : at + size])))
        at += size
    return bytes(fixed)


def resealed(data: bytes) -> bytes:
    """An index, each part of it, or a snapshot with the checksum that fits."""
    if data[1 + _LENGTH.size :].startswith(INDEX_KIND):
        return data[:1] + b"".join(encode_framed(_sealed(part)) for part in _parts(data, 1))
    return data[:1] + _sealed(data[1:])


def _sealed(part: bytes) -> bytes:
    kept = part[: -_CRC.size]
    return kept + _CRC.pack(crc32c(kept))


def _parts(data: bytes, at: int) -> Iterator[bytes]:
    """What the lengths in an index tell apart; the last part may be longer than its length says, or shorter."""
    while at + _LENGTH.size < len(data):
        begins, size = at + _LENGTH.size, _LENGTH.unpack_from(data, at)[0]
        at = begins + size if 0 < size < len(data) - begins else len(data)
        yield data[begins:at]


SEGMENTS: Final = Start(killed, (".log",))
BESIDE: Final = Start(stopped, (".index", ".snapshot"))
SMALL_FILES: Final = Start(killed, (".properties", ".json", ".journal", ""))
"""The small files at the top."""
