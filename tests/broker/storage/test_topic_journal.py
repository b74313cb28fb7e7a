"""The topic journal, a snapshot with later changes: acknowledged changes survive every stop."""

from __future__ import annotations

import shutil
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.files.disk import RUNNING, Disk, OperatingSystem
from eosfw_memory.storage.files.topic_journal import JOURNAL, TopicJournal
from eosfw_memory.storage.files.topic_storage import StoredTopic
from eosfw_memory.storage.topics.topic import Topics

from ..log.log_harness import unhurried
from .data_directory_harness import NODE, bits, flip, old_blocks, refused_start, zeros


class CountingSystem(OperatingSystem):
    """Counts what is written."""

    def __init__(self) -> None:
        self.written = 0

    def write(self, descriptor, pieces, at):
        self.written += sum(map(len, pieces))
        return super().write(descriptor, pieces, at)


def opened(root, system=None) -> DataDirectory:
    return DataDirectory.open(root, waits=False, node_id=NODE, system=system)


def listed(root) -> dict[str, int]:
    """The topics that a start finds, with how many partitions each has; the start changes nothing more."""
    storage = opened(root)
    storage.release()
    return {topic.name: topic.partitions for topic in storage.topics()}


def test_every_topic_adds_the_same_few_bytes_to_the_journal(tmp_path):
    """A list written anew for each of 16,000 topics took 87 s."""
    system = CountingSystem()
    topics = Topics(opened(tmp_path, system))
    written = []
    for hundred in range(4):
        before = system.written
        for number in range(100):
            topics.create(f"t-{hundred}-{number}", 1, {})
        written.append(system.written - before)
    assert max(written) < 1.2 * min(written)


def test_the_journal_is_bounded_however_often_a_topic_changes(tmp_path):
    """Its changes go into the snapshot from time to time."""
    storage = opened(tmp_path)
    topics = Topics(storage)
    topic = topics.create("t", 1, {})
    for number in range(2500):
        topics.alter(topic, {"retention.ms": str(number)})
        topic = topics.by_name("t")
    assert (tmp_path / JOURNAL).read_bytes().count(b"\n") < 1500
    storage.release()
    [found] = opened(tmp_path).topics()
    assert found.config == {"retention.ms": "2499"}


@pytest.mark.parametrize("kept", [0, 1, 20, -1], ids=["nothing", "one byte", "some bytes", "all but the end"])
def test_a_torn_last_line_of_the_topic_journal_is_ignored(tmp_path, kept):
    """It was never acknowledged; nothing of it disturbs the next one."""
    storage = opened(tmp_path)
    storage.create(StoredTopic("first", UUID(int=1), 1, {}))
    whole = (tmp_path / JOURNAL).read_bytes()
    storage.create(StoredTopic("second", UUID(int=2), 1, {}))
    storage.release()
    line = (tmp_path / JOURNAL).read_bytes()[len(whole) :]
    (tmp_path / JOURNAL).write_bytes(whole + line[:kept])
    assert listed(tmp_path) == {"first": 1}
    storage = opened(tmp_path)
    storage.create(StoredTopic("third", UUID(int=3), 1, {}))
    storage.release()
    assert listed(tmp_path) == {"first": 1, "third": 1}


@pytest.mark.parametrize("harm", [bits, zeros, old_blocks])
def test_wrong_bytes_in_the_topic_journal_are_no_torn_write(tmp_path, harm):
    """Whichever they are, in the last line, too: it was acknowledged, so it must not be dropped in silence."""
    storage = opened(tmp_path)
    for number in range(2):
        storage.create(StoredTopic(f"t{number}", UUID(int=number), 1, {}))
    storage.release()
    path = tmp_path / JOURNAL
    content, disk = path.read_bytes(), Disk(tmp_path)
    for changed in harm(content):
        if changed != content:
            path.write_bytes(changed)
            with pytest.raises(DamagedDataError, match=rf"{path}: cannot be read at byte .*: restore the file from a"):
                TopicJournal(disk)
    path.write_bytes(content)
    assert listed(tmp_path) == {"t0": 1, "t1": 1}


@pytest.mark.parametrize("lost", [(0, 400), (0, 7), (9, 30), (60, 400)], ids=str)
def test_zeros_that_a_power_cut_leaves_of_a_last_line_are_ignored(tmp_path, lost):
    """No fsync had confirmed it; after a kill they are wrong bytes."""
    storage = opened(tmp_path)
    storage.create(StoredTopic("first", UUID(int=1), 1, {}))
    first = (tmp_path / JOURNAL).stat().st_size
    storage.create(StoredTopic("second", UUID(int=2), 1, {}))
    storage.release()
    content = bytearray((tmp_path / JOURNAL).read_bytes())
    behind = min(first + lost[1], len(content))
    content[first + lost[0] : behind] = bytes(behind - first - lost[0])
    (tmp_path / JOURNAL).write_bytes(content)
    with refused_start(tmp_path, f"{JOURNAL}: cannot be read at byte {first} "):
        opened(tmp_path)
    (tmp_path / RUNNING).write_bytes(b"another run of the machine")
    assert listed(tmp_path) == {"first": 1}


def test_a_wrong_byte_in_a_whole_last_line_is_refused_after_a_power_cut_too(tmp_path):
    """What was not written reads as zeros, not as something else."""
    storage = opened(tmp_path)
    storage.create(StoredTopic("first", UUID(int=1), 1, {}))
    storage.release()
    (tmp_path / RUNNING).write_bytes(b"another run of the machine")
    for at in (0, 12, 40, -1):
        flip(tmp_path / JOURNAL, at)
        with refused_start(tmp_path, f"{JOURNAL}: cannot be read at byte 0 "):
            opened(tmp_path)
        flip(tmp_path / JOURNAL, at)
    assert listed(tmp_path) == {"first": 1}


def test_a_damaged_line_before_others_is_refused_with_its_place(tmp_path):
    """File, position and remedy; nothing is changed."""
    storage = opened(tmp_path)
    for number in range(3):
        storage.create(StoredTopic(f"t{number}", UUID(int=number), 1, {}))
    storage.release()
    path = tmp_path / JOURNAL
    content = path.read_bytes()
    second = content.index(b"\n") + 1
    path.write_bytes(content[: second + 30] + b"?" + content[second + 31 :])
    with refused_start(tmp_path, rf"{JOURNAL}: cannot be read at byte {second} .*: restore the file from a copy"):
        opened(tmp_path)


NAMES = st.sampled_from("abc")
CHANGES = st.lists(st.tuples(st.sampled_from(["create", "grow", "delete", "snapshot"]), NAMES), max_size=12)


@unhurried
@given(CHANGES, st.booleans())
def test_a_restart_restores_the_topics(tmp_path_factory, changes, between):
    """Also when it comes `between` a snapshot and the end of the journal that is in it."""
    root = tmp_path_factory.mktemp("data")
    Disk(root)
    journal, model, next_id = TopicJournal(Disk(root)), {}, iter(range(1, 100))
    for change, name in changes:
        if change == "snapshot":
            journal.snapshot()
        elif change == "create" and name not in model:
            model[name] = StoredTopic(name, UUID(int=next(next_id)), 1, {})
            journal.put([model[name]])
        elif change == "grow" and name in model:
            topic = model[name]
            model[name] = StoredTopic(name, topic.topic_id, topic.partitions + 1, {})
            journal.put([model[name]])
        elif change == "delete" and name in model:
            journal.delete(model.pop(name))
            journal.deleted()
    if between:
        kept = (root / JOURNAL).read_bytes() if (root / JOURNAL).exists() else b""
        journal.snapshot()
        (root / JOURNAL).write_bytes(kept)
    journal.close()
    found = TopicJournal(Disk(root))
    assert found.topics == model
    assert not found.deleting
    shutil.rmtree(root)
