"""Read or write the small files at the top of a data directory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.codes import KafkaError
from eosfw_memory.storage.disk import TEMPORARY, Disk
from eosfw_memory.storage.lock_file import LOCK, unusable_directory
from eosfw_memory.storage.topic_storage import FIRST_PRODUCER_ID, StoredTopic
from eosfw_memory.topic_config import check_name, check_shape

META: Final = "meta.properties"
TOPICS: Final = "topics.json"
PRODUCER_IDS: Final = "producer-ids"
FORMAT: Final = 1
_FORMAT_KEY: Final = "eosfw.format"
_BLOCK: Final = 1000
_GIVEN_SINCE_A_COPY: Final = 1_000_000_000
"""More than there were; there are enough of them."""


def cluster_id(disk: Disk, node_id: int) -> str:
    """The id of the directory's cluster; a fresh one for an empty directory. Refuses what is not ours."""
    path = disk.root / META
    if not path.exists():
        foreign_files = sorted(each.name for each in disk.root.iterdir() if each.name not in (LOCK, META + TEMPORARY))
        if foreign_files:
            raise unusable_directory(disk.root, f"has no {META} but holds {foreign_files[0]}; take an empty directory")
        made = uuid4().hex[:22]
        lines = ("version=1", f"cluster.id={made}", f"node.id={node_id}", f"{_FORMAT_KEY}={FORMAT}", "")
        disk.replace(path, "\n".join(lines).encode(), durable=True)
        return made
    found = dict(_pairs(path))
    _check_format(disk.root, found.get(_FORMAT_KEY))
    if not found.get("cluster.id"):
        raise DamagedDataError(f"{path}: cluster.id is missing: restore the file from a copy")
    return found["cluster.id"]


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            yield name.strip(), value.strip()


def _check_format(root: Path, found: str | None) -> None:
    if found is None:
        raise unusable_directory(
            root, f"belongs to another broker (its {META} has no {_FORMAT_KEY}); take an empty directory"
        )
    if not found.isdecimal() or int(found) > FORMAT:
        raise unusable_directory(root, f"has format {found}, this version reads up to {FORMAT}: update eosfw-memory")


# --- topics


@dataclass(frozen=True, slots=True)
class TopicList:
    """The topics of a directory, with those whose files are being deleted."""

    topics: Sequence[StoredTopic]
    deleting: Sequence[StoredTopic] = ()


def read_topics(root: Path) -> TopicList:
    """What the list says; raises DamagedDataError when it cannot be read, since guessing could lose topics."""
    path = root / TOPICS
    try:
        found = json.loads(path.read_bytes())
        return TopicList([topic_of(each) for each in found["topics"]], [topic_of(each) for each in found["deleting"]])
    except FileNotFoundError:
        return TopicList([])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, KafkaError) as why:
        raise DamagedDataError(f"{path}: cannot be read ({why}): restore the file from a copy") from why


def write_topics(disk: Disk, listed: TopicList) -> None:
    """Replace the list; it is on the disk on return."""
    content = f'{{"topics": {_listed(listed.topics)}, "deleting": {_listed(listed.deleting)}}}\n'
    disk.replace(disk.root / TOPICS, content.encode(), durable=True)


def _listed(topics: Sequence[StoredTopic]) -> str:
    """One topic a line, since with `indent` json is four times as slow."""
    return "[" + ",".join(f"\n {json.dumps(plain_topic(topic))}" for topic in topics) + "]"


def topic_of(found: Mapping[str, Any]) -> StoredTopic:
    """A topic as it is written; raises whatever nonsense leads to."""
    config = {str(name): str(value) for name, value in found["config"].items()}
    check_name(str(found["name"]))
    check_shape(int(found["partitions"]), config)
    broker_epoch = int(found.get("born", 0))
    return StoredTopic(str(found["name"]), UUID(found["id"]), int(found["partitions"]), config, broker_epoch)


def plain_topic(topic: StoredTopic) -> dict[str, object]:
    """A topic for JSON."""
    return {
        "name": topic.name,
        "id": str(topic.topic_id),
        "partitions": topic.partitions,
        "config": dict(topic.config),
        "born": topic.broker_epoch,
    }


# --- producer ids


def producer_ids(disk: Disk, *, leap: bool = False) -> Iterator[int]:
    """Ids that were never given away: a block is claimed on the disk before its first one is.

    With `leap` none that may have been given away since the directory was copied. The file is there from the first
    start on, so that one that is gone can be told from one that was never needed.
    """
    path = disk.root / PRODUCER_IDS
    there = path.exists()
    start = next_producer_id(path) if there else FIRST_PRODUCER_ID
    if leap:
        start += _GIVEN_SINCE_A_COPY
    if leap or not there:
        disk.replace(path, str(start).encode(), durable=True)
    return _claimed(disk, path, start)


def next_producer_id(path: Path) -> int:
    """What the file says; raises DamagedDataError when it says nothing."""
    try:
        return int(path.read_text())
    except ValueError as why:
        raise DamagedDataError(f"{path}: holds no number: write one above every producer id that was used") from why


def _claimed(disk: Disk, path: Path, start: int) -> Iterator[int]:
    ids = _ProducerIds(disk, path, start)
    return iter(ids.next, None)


class _ProducerIds:
    """Counts, and outlives a claim that failed, which a generator would not."""

    def __init__(self, disk: Disk, path: Path, start: int) -> None:
        self._disk = disk
        self._path = path
        self._next = self._end = start

    def next(self) -> int:
        if self._next == self._end:
            self._disk.replace(self._path, str(self._end + _BLOCK).encode(), durable=True)
            self._end += _BLOCK
        given, self._next = self._next, self._next + 1
        return given


# --- offsets of partitions


class Checkpoint:
    """An offset for each of some partitions, in the format of Kafka's checkpoint files."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._path = disk.root / name
        self.offsets = _read_offsets(self._path)

    def put(self, where: TopicPartition, offset: int) -> None:
        """Remember an offset."""
        self._write({**self.offsets, where: offset})

    def forget(self, topic: str) -> None:
        """Remember nothing of a topic."""
        left = {where: offset for where, offset in self.offsets.items() if where.topic != topic}
        if len(left) < len(self.offsets):
            self._write(left)

    def _write(self, offsets: dict[TopicPartition, int]) -> None:
        lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
        content = "\n".join(["0", str(len(lines)), *lines, ""]).encode()
        self._disk.replace(self._path, content, durable=self._disk.waits)
        self.offsets = offsets


def _read_offsets(path: Path) -> dict[TopicPartition, int]:
    if not path.exists():
        return {}
    try:
        version, count, *lines = path.read_text().splitlines()
        rows = [line.rsplit(" ", 2) for line in lines]
        if version != "0" or int(count) != len(rows):
            raise ValueError("its header does not fit")  # noqa: TRY301
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows}
    except ValueError as why:
        raise DamagedDataError(f"{path}: cannot be read ({why}): restore the file from a copy") from why
