"""Find files of a data directory that are missing, or of another age than the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from eosfw.errors import DamagedDataError, EosfwError
from eosfw_memory.storage.files.broker_epoch import NAME as BROKER_EPOCH_FILE
from eosfw_memory.storage.files.lock_file import unusable_directory
from eosfw_memory.storage.files.producer_ids import PRODUCER_IDS
from eosfw_memory.storage.files.topic_journal import JOURNAL
from eosfw_memory.storage.files.topic_list import TOPICS
from eosfw_memory.storage.files.topic_storage import FIRST_PRODUCER_ID, StoredTopic
from eosfw_memory.storage.log.log_storage import LogState


def topics_newer_than_epoch(root: Path, topics: Iterable[StoredTopic], started: int) -> list[str]:
    """Topics created after the last start that the directory knows: its files are of different age."""
    return [
        f"{root / BROKER_EPOCH_FILE}: is older than topic {topic.name}: restore all of it from one copy"
        for topic in topics
        if topic.broker_epoch > started
    ]


def stray_directories(root: Path, known: Collection[Path]) -> list[str]:
    """Directories with records that belong to no topic. Kafka's stray logs; only their owner can say what they are."""
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and path not in known and any(path.iterdir())]
    listed = root / TOPICS
    if folders and not known and not listed.exists():
        lost = f"{listed}: is missing, though {len(folders)} folders hold records, {folders[0].name} the first"
        return [f"{lost}: restore the file from a copy, leave the folders where they are"]
    remedy = "restore them from the copy of the same age, or move the folder away if nothing in it is wanted"
    return [f"{path}: belongs to no topic that {TOPICS} and {JOURNAL} list: {remedy}" for path in folders]


def lost_producer_ids(root: Path, states: Iterable[LogState], started: int) -> list[str]:
    """Whether the file of producer ids is lost, so that ids in use would be given away again."""
    path = root / PRODUCER_IDS
    if not started or path.exists():
        return []
    seen = max((each for state in states for each in state.producers.known()), default=FIRST_PRODUCER_ID - 1)
    lost = "is missing, so ids of producers would be given to others, whose records would be taken for repetitions"
    remedy = "restore the file from a copy, or write into it a number above every producer id that was ever used"
    return [f"{path}: {lost}: {remedy}; the logs know ids up to {seen}"]


def unreadable(root: Path, why: OSError) -> EosfwError:
    """The error for a file that cannot be read, or that is none."""
    if isinstance(why, PermissionError):
        return unusable_directory(
            root, f"holds {why.filename}, which this user may not read or change; change its rights"
        )
    return DamagedDataError(f"{why.filename}: cannot be read ({why.strerror}): restore the file from a copy")
