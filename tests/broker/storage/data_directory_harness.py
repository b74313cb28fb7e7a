"""A data directory with one topic, to be opened, crashed, damaged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.topics.topic import Topics

NODE = 1
TOPIC = "flights"
SMALL = {"segment.bytes": "400"}
"""So that a log of a few batches has several segments."""


class DataDirectoryHarness:
    """One run on a directory: from its opening to a stop or a crash."""

    def __init__(self, root: Path, *, waits: bool = False, system=None, **config: str) -> None:
        self.root = root
        self.storage = DataDirectory.open(root, waits=waits, node_id=NODE, system=system)
        if self.storage.restored:  # tests copy directories; here is nobody to be fenced
            self.storage.producers_fenced()
        self.topics = Topics(self.storage)
        if self.topics.by_name(TOPIC) is None:
            self.topics.create(TOPIC, 1, config)

    @property
    def log(self) -> PartitionLog:
        return self.topics.by_name(TOPIC).partitions[0].log

    def stop(self) -> None:
        """End as SIGTERM ends it."""
        self.storage.close(self.topics.logs())

    def crash(self) -> None:
        """End as kill -9 does: nothing more is written, the system closes the files."""
        for segment in [*self.log.rolled_segments(), self.log.active_segment]:
            segment.file.close()
        self.storage.release()


def files(root: Path) -> dict[str, str]:
    """A digest of every file, by its name."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@contextmanager
def refused_start(root: Path, message: str | None = None) -> Iterator[pytest.ExceptionInfo[DamagedDataError]]:
    """Expect that a start finds damage: exit code 4, and nothing in the directory is changed."""
    before = files(root)
    with pytest.raises(DamagedDataError, match=message) as why:
        yield why
    assert why.value.exit_code == 4
    assert files(root) == before


def flip(path: Path, at: int, mask: int = 1) -> None:
    """Change some bits of one byte of a file."""
    content = bytearray(path.read_bytes())
    content[at] ^= mask
    path.write_bytes(content)


def bits(content: bytes) -> Iterator[bytes]:
    """A content with one bit flipped, for each of its bytes."""
    for at in range(len(content)):
        yield content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]


def zeros(content: bytes) -> Iterator[bytes]:
    """A content that ends in zeros, from each of its bytes on."""
    for at in range(len(content)):
        yield content[:at] + bytes(len(content) - at)


def old_blocks(content: bytes) -> Iterator[bytes]:
    """A content with its beginning a second time, from each of its bytes on."""
    for at in range(1, len(content)):
        yield content[:at] + content[: len(content) - at]


def leave_logs_alone(root: Path, *suffixes: str) -> None:
    """Remove what can be made again from the logs: indexes and snapshots, or those of one suffix."""
    for path in [path for path in root.rglob("*") if path.suffix in (suffixes or (".index", ".snapshot"))]:
        path.unlink()


def data_file(root: Path, number: int = 0, topic: str = TOPIC) -> Path:
    """The segment file of a topic by its index; negative numbers count from the end."""
    return sorted((root / f"{topic}-0").glob("*.log"))[number]


def log_facts(log: PartitionLog) -> dict[str, object]:
    """All facts that a log reports besides its records."""
    state = log.state
    return {
        "producers": {
            pid: (
                each.epoch,
                each.next_sequence,
                each.coordinator_epoch,
                each.last_timestamp,
                each.first_offset,
                list(each.batches),
            )
            for pid, each in state.producers.known().items()
        },
        "open": list(state.open),
        "aborted": state.aborted.ended_in(0, 1 << 62),
        "ends": (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.size),
        "batches": list(log.batches()),
    }
