"""Keep the list of topics: a snapshot with a journal of the changes since, as Kafka's `__cluster_metadata` does.

`topics.json` is the snapshot. Writing it anew for each topic would take ever longer, so a change is a line appended to
`topics.journal`: a checksum, then the change as JSON. Each line is on the disk before the next one is begun, hence only
the last one can be torn, and a torn one was never acknowledged.
"""

from __future__ import annotations

import json
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


class TopicJournal:
    """The topics of a data directory, with those whose files are being deleted."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._file = DataFile(disk.root / JOURNAL)
        listed = read_topics(disk.root)
        self.topics = {topic.name: topic for topic in listed.topics}
        self.deleting = {topic.topic_id: topic for topic in listed.deleting}
        self._changes = self._size = 0
        content = self._file.path.read_bytes() if self._file.path.exists() else b""
        self._stale = bool(content)
        """Whether the journal holds changes that the snapshot lacks."""
        self._replay(content)

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
        line = b"%08x %b\n" % (crc32c(body), body)
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

    def _replay(self, content: bytes) -> None:
        lines = content.split(b"\n")[:-1]
        bodies = [_body(line) for line in lines]
        whole = bodies.index(None) if None in bodies else len(bodies)
        for line, body in zip(lines[:whole], bodies, strict=False):
            try:
                self._apply(json.loads(body or b""))
            except MALFORMED as why:
                raise self._damaged(str(why)) from why
            self._size += len(line) + 1
        # A whole line behind a bad one: no torn last write leaves that.
        if any(bodies[whole:]):
            raise self._damaged("its checksum does not fit")

    def _damaged(self, why: str) -> DamagedDataError:
        return DamagedDataError(
            f"{self._file.path}: cannot be read at byte {self._size} ({why}): restore the file from a copy"
        )


def _body(line: bytes) -> bytes | None:
    """The change in a line as it is written; None unless its checksum fits."""
    checksum, _, body = line.partition(b" ")
    return body if checksum == b"%08x" % crc32c(body) else None
