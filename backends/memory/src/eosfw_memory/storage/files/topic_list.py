"""Read or write `topics.json`, the list of a directory's topics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from eosfw.errors import DamagedDataError
from eosfw_memory.common.codes import KafkaError
from eosfw_memory.storage.files.checksum_line import read_checked, with_checksum
from eosfw_memory.storage.files.disk import Disk
from eosfw_memory.storage.files.topic_storage import StoredTopic
from eosfw_memory.storage.log.topic_config import check_name, check_shape

TOPICS: Final = "topics.json"
MALFORMED: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, KafkaError)
"""What reading a topic from JSON raises when the JSON is not one that was written here."""


@dataclass(frozen=True, slots=True)
class TopicList:
    """The topics of a directory, with those whose files are being deleted."""

    topics: Sequence[StoredTopic]
    deleting: Sequence[StoredTopic] = ()


def read_topics(root: Path) -> TopicList:
    """What the list says; raises DamagedDataError when it cannot be read, since guessing could lose topics."""
    path = root / TOPICS
    try:
        found = json.loads(read_checked(path))
        return TopicList([topic_of(each) for each in found["topics"]], [topic_of(each) for each in found["deleting"]])
    except FileNotFoundError:
        return TopicList([])
    except MALFORMED as why:
        raise DamagedDataError(f"{path}: cannot be read ({why}): restore the file from a copy") from why


def write_topics(disk: Disk, listed: TopicList) -> None:
    """Replace the list; it is on the disk on return."""
    content = f'{{"topics": {_listed(listed.topics)}, "deleting": {_listed(listed.deleting)}}}\n'
    disk.replace(disk.root / TOPICS, with_checksum(content.encode()), durable=True)


def _listed(topics: Sequence[StoredTopic]) -> str:
    """One topic a line, since with `indent` json is four times as slow."""
    return "[" + ",".join(f"\n {json.dumps(plain_topic(topic))}" for topic in topics) + "]"


def topic_of(found: Mapping[str, Any]) -> StoredTopic:
    """A topic from its JSON; raises one of MALFORMED when that is not one that was written here."""
    config = {str(name): str(value) for name, value in found["config"].items()}
    name, partitions = str(found["name"]), int(found["partitions"])
    check_name(name)
    check_shape(partitions, config)
    return StoredTopic(name, UUID(found["id"]), partitions, config, int(found.get("born", 0)))


def plain_topic(topic: StoredTopic) -> dict[str, object]:
    """A topic for JSON."""
    return {
        "name": topic.name,
        "id": str(topic.topic_id),
        "partitions": topic.partitions,
        "config": dict(topic.config),
        "born": topic.broker_epoch,
    }
