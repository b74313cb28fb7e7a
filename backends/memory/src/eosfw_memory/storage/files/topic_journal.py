"""Keep the list of topics: a snapshot with a journal of the changes since, as Kafka's `__cluster_metadata` does.

`topics.json` is the snapshot. Writing it anew for each topic would take ever longer, so a change is a line appended to
`topics.journal`: its length, the checksums of that and of the change, then the change as JSON. Each line is on the disk
before the next one is begun, hence only the last one can be torn, and a torn one was never acknowledged. It shows: the
end is missing or, after a crash of the machine, any part reads as zeros. Whatever else is wrong in a line is damage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from crc32c import crc32c

from eosfw.errors import DamagedDataError
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.storage.files.disk import DataFile, Disk
from eosfw_memory.storage.files.topic_list import MALFORMED, TopicList, plain_topic, read_topics, topic_of, write_topics
from eosfw_memory.storage.files.topic_storage import StoredTopic

JOURNAL: Final = "topics.journal"
_FEW: Final = 1000
"""Changes that a start reads within milliseconds."""
_HEAD_SIZE: Final = 27


class TopicJournal:
    """The topics of a data directory, with those whose files are being deleted."""

    def __init__(self, disk: Disk, *, doubtful: bool = False) -> None:
        """After a `doubtful` run any write may be missing that no fsync has confirmed."""
        self._disk = disk
        self._file = DataFile(disk.root / JOURNAL)
        listed = read_topics(disk.root)
        self.topics = {topic.name: topic for topic in listed.topics}
        self.deleting = {topic.topic_id: topic for topic in listed.deleting}
        self._changes = self._size = 0
        content = self._file.path.read_bytes() if self._file.path.exists() else b""
        self._stale = bool(content)
        """Whether the journal holds changes that the snapshot lacks."""
        self._replay(content, doubtful=doubtful)

    def put(self, topics: Sequence[StoredTopic]) -> None:
        """Keep topics as they are now, all or none."""
        self._append({"put": [*map(plain_topic, topics)]})

    def delete(self, topic: StoredTopic) -> None:
        """Remove a topic from the list; its files are being deleted."""
        self._append({"delete": str(topic.topic_id), "name": topic.name})

    def deleted(self) -> None:
        """Save that the files of all topics to be deleted are deleted."""
        self._append({"deleted": [str(topic_id) for topic_id in self.deleting]})

    def snapshot(self) -> None:
        """Write the whole list again unless nothing has changed; the journal is empty afterwards.

        After a crash between the two the next start applies changes that the snapshot has already, to the same effect.
        """
        if not self._stale:
            return
        write_topics(self._disk, TopicList(list(self.topics.values()), list(self.deleting.values())))
        self._file.close()
        self._disk.replace(self._file.path, b"", durable=True)
        self._changes = self._size = 0
        self._stale = False

    def close(self) -> None:
        """Give the descriptor back."""
        self._file.close()

    def _append(self, change: Mapping[str, Any]) -> None:
        """Put a change on the disk, then into effect; raise KafkaStorageError, with neither done."""
        body = json.dumps(change, separators=(",", ":")).encode()
        line = _head(self._size, body) + body + b"\n"
        is_new = not self._size and not self._file.path.exists()
        # At the end of the whole lines, so over a torn one that a crash may have left.
        self._disk.write(self._file, [line], self._size)
        self._disk.sync_file(self._file)
        if is_new:
            self._disk.sync_directory(self._disk.root)
        self._size += len(line)
        self._stale = True
        self._apply(change)
        # A snapshot costs as much as there are topics, so as many changes pay for it.
        if self._changes > max(_FEW, len(self.topics)):
            with suppress(KafkaStorageError):  # the change is in the journal already
                self.snapshot()

    def _apply(self, change: Mapping[str, Any]) -> None:
        for each in change.get("put", ()):
            topic = topic_of(each)
            self.topics[topic.name] = topic
            self._changes += 1
        if "delete" in change:
            self._changes += 1
            gone = self.topics.get(change["name"])
            if gone is not None and gone.topic_id == UUID(change["delete"]):  # not one made later by this name
                self.deleting[gone.topic_id] = self.topics.pop(gone.name)
        for each in change.get("deleted", ()):
            self.deleting.pop(UUID(each), None)

    def _replay(self, content: bytes, *, doubtful: bool) -> None:
        while (body := _body(content, self._size)) is not None:
            try:
                self._apply(json.loads(body))
            except MALFORMED as why:
                raise self._damaged(str(why)) from why
            self._size += _HEAD_SIZE + len(body) + 1
        rest = content[self._size :]
        if rest and not (_torn(rest, self._size, zeros=doubtful) and not _any_line(content, self._size + 1)):
            raise self._damaged("its checksum does not fit")

    def _damaged(self, why: str) -> DamagedDataError:
        return DamagedDataError(
            f"{self._file.path}: cannot be read at byte {self._size} ({why}): restore the file from a copy"
        )


def _head(at: int, body: bytes) -> bytes:
    """What stands before a change: with the position, so that another line is not taken for it, and the length."""
    return b"%08x %08x %08x " % (len(body), _checksum(at, len(body)), crc32c(body))


def _checksum(at: int, length: int) -> int:
    return crc32c(b"%d %d" % (at, length))


def _length(head: bytes, at: int) -> int | None:
    """The length of the change in the line at a position; None unless the head says it for sure."""
    try:
        length, checksum = int(head[:8], 16), int(head[9:17], 16)
    except ValueError:
        return None
    return length if checksum == _checksum(at, length) else None


def _body(content: bytes, at: int) -> bytes | None:
    """The change in the whole line at a position; None without one."""
    begins = at + _HEAD_SIZE
    length = _length(content[at:begins], at)
    if length is None:
        return None
    body, end = content[begins : begins + length], content[begins + length : begins + length + 1]
    return body if content[at:begins] == _head(at, body) and end == b"\n" else None


def _any_line(content: bytes, since: int) -> bool:
    """Whether a whole line begins behind a position: no torn last write leaves that."""
    return any(_body(content, found.end()) is not None for found in re.compile(b"\n").finditer(content, since))


def _torn(rest: bytes, at: int, *, zeros: bool) -> bool:
    """Whether a write left it that was cut short: the beginning of a line, or one with `zeros` in it."""
    if b"\0" in rest:
        return zeros
    length = _length(rest[:_HEAD_SIZE], at)
    return len(rest) < _HEAD_SIZE if length is None else len(rest) <= _HEAD_SIZE + length
