"""Files that were read are moved or deleted, never before their last record is committed."""

from __future__ import annotations

import gzip
import os

import pytest

from eosfw.errors import ConfigError, DamagedDataError
from eosfw_file import FileSourceConnector
from eosfw_file.files.completed_files import CompletedFiles
from eosfw_file.files.source_file import SourceFile

from .task_harness import Context, committed_polls, start, task_properties


def settings(tmp_path, action):
    given = {"after_commit": action, "file_poll_interval_ms": "1"}
    return given | ({"after_commit_folder": str(tmp_path / "done")} if action == "move" else {})


def begin(tmp_path, action, offsets=None, name="in", **properties):
    return start(tmp_path / name, offsets, **settings(tmp_path, action), **properties)


def write(tmp_path, name="a.txt", data=b"one\ntwo\n"):
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / name).write_bytes(data)
    return tmp_path / "in" / name


def files_of(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("action", ["move", "delete"])
@pytest.mark.parametrize(
    ("name", "data", "properties", "values"),
    [
        ("a.txt", b"one\ntwo\n", {}, [b"one", b"two"]),
        ("a.txt", b"one\ntwo\n", {"batch_size": "1"}, [b"one", b"two"]),
        ("a.txt", b"one\ntwo", {"incomplete_last_line": "emit"}, [b"one", b"two"]),
        ("a.gz", gzip.compress(b"one\ntwo\n", mtime=0), {}, [b"one", b"two"]),
        ("a.csv", b"n\n1\n", {"format": "csv"}, [b'{"n":"1"}']),
        ("a.csv", b"n\n", {"format": "csv"}, []),
        ("a.jsonl", b"{}\nno\n\n", {"format": "jsonl", "malformed": "skip"}, [b"{}"]),
    ],
)
def test_a_file_is_out_of_the_way_once_its_end_is_committed(tmp_path, action, name, data, properties, values):
    """FIL-01."""
    write(tmp_path, name, data)
    driven = begin(tmp_path, action, **properties)

    assert committed_polls(driven)[0] == values

    assert driven.task.at_end()
    assert files_of(tmp_path / "in") == []
    assert files_of(tmp_path / "done") == ([name] if action == "move" else [])
    if action == "move":
        assert (tmp_path / "done" / name).read_bytes() == data


@pytest.mark.parametrize("action", ["move", "delete"])
def test_a_file_stays_until_its_last_record_is_committed(tmp_path, action):
    """FIL-01: the commit that overlaps a poll has not what that poll returned."""
    path = write(tmp_path)
    driven = begin(tmp_path, action)

    driven.task.poll()
    driven.task.commit()
    driven.task.poll()
    assert path.exists()
    assert not driven.task.at_end()

    driven.task.commit()
    driven.task.poll()
    assert not path.exists()


@pytest.mark.parametrize(
    ("data", "properties"), [(b"", {}), (b"one\ntw", {}), (gzip.compress(b"one\n" * 100, mtime=0)[:-4], {})]
)
def test_a_file_whose_end_is_waited_for_stays(tmp_path, data, properties):
    """FIL-01: an empty file is one that somebody is about to write."""
    path = write(tmp_path, "a", data)

    committed_polls(begin(tmp_path, "delete", **properties))

    assert path.exists()


def test_what_is_appended_before_the_commit_is_read_before_the_file_is_moved(tmp_path):
    """FIL-01."""
    path = write(tmp_path)
    driven = begin(tmp_path, "move")
    driven.task.poll()
    with path.open("ab") as growing:
        growing.write(b"three\n")

    values, _ = committed_polls(driven)

    assert values == [b"three"]
    assert files_of(tmp_path / "done") == ["a.txt"]


@pytest.mark.parametrize("action", ["move", "delete"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_crash_between_commit_and_move_is_made_up_for(tmp_path, action, linked):
    """FIL-02: also a crash in the middle of the move, where the file has both names."""
    path = write(tmp_path)
    driven = begin(tmp_path, action)
    *_, end = driven.task.poll()
    offsets = {str(path): end.source_offset}
    if linked and action == "move":
        (tmp_path / "done").mkdir()
        os.link(path, tmp_path / "done" / "a.txt")

    values, _ = committed_polls(begin(tmp_path, action, offsets))

    assert values == []
    assert files_of(tmp_path / "in") == []
    assert files_of(tmp_path / "done") == (["a.txt"] if action == "move" else [])


@pytest.mark.parametrize("action", ["move", "delete"])
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("data", [b"one\ntwo\n", b"one\ntwo\nthree\n", b"new\n"])
def test_another_file_under_the_name_of_one_that_was_read_is_read_from_its_start(tmp_path, action, running, data):
    """FIL-02: before and behind a restart, whatever it begins with."""
    write(tmp_path)
    driven = begin(tmp_path, action)
    _, offsets = committed_polls(driven)
    write(tmp_path, data=data)

    values, _ = committed_polls(driven if running else begin(tmp_path, action, offsets))

    assert values == data.splitlines()
    assert files_of(tmp_path / "done") == (["a-1.txt", "a.txt"] if action == "move" else [])


@pytest.mark.parametrize("action", ["move", "delete"])
def test_a_file_that_was_read_and_is_gone_is_no_error_at_the_start_of_a_task(tmp_path, action):
    """FIL-02: the generation before may remove it while this one starts."""
    path = write(tmp_path)
    shares = task_properties(path, **settings(tmp_path, action))
    _, offsets = committed_polls(begin(tmp_path, action))
    again = FileSourceConnector.task()
    again.start(FileSourceConnector.task.config.parse(shares[0]), Context(offsets))

    assert again.poll() is None
    assert again.at_end()


def test_two_generations_that_move_one_file_move_it_once(tmp_path):
    """FIL-03: the second finds the work done, in every order."""
    path = write(tmp_path)
    first = begin(tmp_path, "move")
    *_, end = first.task.poll()
    offsets = {str(path): end.source_offset}
    second = begin(tmp_path, "move", offsets)

    committed_polls(first)
    committed_polls(second)

    assert files_of(tmp_path / "done") == ["a.txt"]
    assert (tmp_path / "done" / "a.txt").stat().st_nlink == 1


@pytest.mark.parametrize("folder", [None, "done"])
@pytest.mark.parametrize("call", ["link", "rename"])
@pytest.mark.parametrize("collected", [False, True])
def test_a_zombie_that_wakes_up_within_a_move_takes_no_other_file(tmp_path, monkeypatch, folder, call, collected):
    """FIL-03: between two calls of the system its successor moves the file, and another gets its name.

    Somebody may have collected the file that was moved meanwhile.
    """
    path = write(tmp_path)
    file = SourceFile(str(path))
    file.read(0, 0)
    target = None if folder is None else str(tmp_path / folder)
    real = getattr(os, call)

    def frozen(*args):
        monkeypatch.setattr(os, call, real)
        CompletedFiles(target).remove(file, "")
        path.write_bytes(b"other\n")
        if collected and folder is not None:
            (tmp_path / "done" / "a.txt").unlink()
        return real(*args)

    if call == "link" and folder is None:
        return  # nothing is linked
    os.link(path, tmp_path / "kept")  # so that its inode is not given to the other file
    monkeypatch.setattr(os, call, frozen)

    CompletedFiles(target).remove(file, "")

    assert path.read_bytes() == b"other\n"
    assert files_of(tmp_path / "in") == ["a.txt"]
    assert files_of(tmp_path / "done") == ([] if folder is None or collected else ["a.txt"])


def test_a_file_that_cannot_be_moved_fails_the_task(tmp_path):
    """FIL-01: silently left, it would be there for ever."""
    write(tmp_path)
    driven = begin(tmp_path, "move")
    (tmp_path / "done").write_text("a file")

    with pytest.raises(DamagedDataError, match=r"was read and cannot be moved to .*done: .*; make its folder"):
        committed_polls(driven)


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({"after.commit": "move"}, "after.commit.folder: after.commit = move needs it"),
        ({"after.commit.folder": "{0}/done"}, "has no meaning with after.commit = keep"),
        ({"after.commit": "move", "after.commit.folder": "{0}/in"}, "is what is read"),
        ({"after.commit": "move", "after.commit.folder": "{0}/in/a.txt"}, "is no folder"),
        ({"after.commit": "delete", "file": "{0}/in/link"}, "is a symbolic link, which after.commit neither"),
        ({"after.commit": "move", "after.commit.folder": "/dev/shm/eosfw-x"}, "on another file system"),
        ({"after.commit": "move", "after.commit.folder": "memory://done"}, "memory://done is in another file system"),
    ],
)
def test_properties_that_cannot_be_meant_are_refused(tmp_path, properties, what):
    """FIL-04."""
    (write(tmp_path).parent / "link").symlink_to("a.txt")
    if "link" not in properties.get("file", ""):
        (tmp_path / "in" / "link").unlink()
    given = {name: value.format(tmp_path) for name, value in properties.items()}
    config = FileSourceConnector.config.parse({"file": str(tmp_path / "in"), "topic": "t", **given})

    (problem,) = FileSourceConnector().problems(config)

    assert what in str(problem)


@pytest.mark.parametrize("action", ["move", "delete"])
def test_a_folder_may_be_empty_if_files_are_taken_out_of_it(tmp_path, action):
    """FIL-01: so it is whenever all was read."""
    (tmp_path / "in").mkdir()

    assert task_properties(tmp_path / "in", **settings(tmp_path, action)) == []
    with pytest.raises(ConfigError, match="holds no files"):
        task_properties(tmp_path / "in")


def test_files_that_were_moved_are_not_found_again(tmp_path):
    """FIL-01: the pattern fits them, too."""
    write(tmp_path)
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "b.txt").write_bytes(b"read\n")

    (share,) = task_properties(f"{tmp_path}/**/*.txt", **settings(tmp_path, "move"))

    assert "b.txt" not in share["task.files"]


class Watching:
    """What a connector asks for while it looks at its folder."""

    def __init__(self, tmp_path, **properties):
        config = FileSourceConnector.config.parse({"file": str(tmp_path / "in"), "topic": "t", **properties})
        self.asked, self.connector = 0, FileSourceConnector()
        self.connector.start(config, self)

    def request_task_reconfiguration(self):
        self.asked += 1

    def look(self):
        self.asked = 0
        self.connector.watch()
        return self.asked


def test_new_files_are_found_while_the_connector_runs(tmp_path):
    """FIL-05: one that is gone needs no other tasks, one that is back under its name does."""
    path = write(tmp_path)
    watching = Watching(tmp_path)

    assert [watching.look(), watching.look()] == [0, 0]
    write(tmp_path, "b.txt")
    assert [watching.look(), watching.look()] == [1, 0]
    path.rename(tmp_path / "kept")
    assert watching.look() == 0
    write(tmp_path)
    assert [watching.look(), watching.look()] == [1, 0]


def test_a_new_file_that_cannot_be_read_is_reported(tmp_path):
    """FIL-05: the connector is FAILED with the reason, its tasks go on."""
    write(tmp_path)
    watching = Watching(tmp_path)
    watching.look()
    write(tmp_path, "b.zip", b"PK\x03\x04")

    with pytest.raises(ConfigError, match="is compressed with zip"):
        watching.look()


@pytest.mark.eos_zombie(at="all")
def test_zombies_of_a_connector_that_moves_its_files_add_nothing(eos, tmp_path):
    """FIL-03: two tasks, and each file is moved once."""
    lines = {f"{name} {number}".encode() for name in "abcd" for number in range(10)}
    for name in "abcd":
        write(tmp_path, f"{name}.txt", b"".join(b"%s %d\n" % (name.encode(), number) for number in range(10)))
    properties = {"file": tmp_path / "in", "batch.size": 4, "tasks.max": 2, "file.poll.interval.ms": 20}
    after = {"after.commit": "move", "after.commit.folder": tmp_path / "done"}

    run = eos.run(FileSourceConnector, properties | after)

    assert sorted(eos.topic(run.topics[0]).values()) == sorted(lines)
    assert files_of(tmp_path / "in") == []
    assert files_of(tmp_path / "done") == ["a.txt", "b.txt", "c.txt", "d.txt"]
