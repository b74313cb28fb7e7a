"""Keep one offset for each of some partitions in a file: Kafka's `OffsetCheckpointFile`, with a checksum."""

from __future__ import annotations

from pathlib import Path

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.storage.files.checksum_line import read_checked, with_checksum
from eosfw_memory.storage.files.disk import Disk

_VERSION = "0"


class OffsetCheckpointFile:
    """The offsets in memory and, in Kafka's format with a line behind it, in a file."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._path = disk.root / name
        self.offsets = _read(self._path)

    def put(self, where: TopicPartition, offset: int) -> None:
        """Keep an offset."""
        self._write({**self.offsets, where: offset})

    def forget(self, topic: str) -> None:
        """Keep no offset of a topic."""
        left = {where: offset for where, offset in self.offsets.items() if where.topic != topic}
        if len(left) < len(self.offsets):
            self._write(left)

    def _write(self, offsets: dict[TopicPartition, int]) -> None:
        lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
        content = "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode()
        self._disk.replace(self._path, with_checksum(content), durable=self._disk.waits)
        self.offsets = offsets


def _read(path: Path) -> dict[TopicPartition, int]:
    if not path.exists():
        return {}
    try:
        version, count, *lines = read_checked(path).decode().splitlines()
        rows = [line.rsplit(" ", 2) for line in lines]
        if version != _VERSION or int(count) != len(rows):
            raise ValueError("its header does not fit")  # noqa: TRY301
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows}
    except ValueError as why:
        raise DamagedDataError(f"{path}: cannot be read ({why}): restore the file from a copy") from why
