"""A log file is read on through its rotations, whether a task runs meanwhile or not."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_file import FileSourceConnector

from .rotating_log import Log
from .task_harness import start, task_properties


class Reading:
    """A task, started again at its committed offset as often as asked."""

    def __init__(self, path, **properties):
        self._path, self._properties = path, {"rotation": "follow", "rotation_wait_ms": "0"} | properties
        self.offset, self.values = None, []
        self.restart()

    def restart(self):
        offsets = None if self.offset is None else {str(self._path): json.loads(json.dumps(self.offset))}
        self.driven = start(self._path, offsets, **self._properties)

    def poll(self, most=1000):
        """Poll until the task says that it is at its end; each poll is committed."""
        for _ in range(most):
            polled = self.driven.task.poll()
            for batch in polled if isinstance(polled, list) else [polled] if polled else []:
                assert batch.source_partition == {"filename": str(self._path)}
                self.values += batch.values
                self.offset = batch.source_offset
            if not polled and self.driven.task.at_end():
                return
        assert most < 1000, "no end"


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path)


ROTATIONS = {"rename": Log.rename, "copy and truncate": Log.copy_and_truncate}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_rotated_file_may_be_packed(log, pack):
    """FIL-11: it is told by its first bytes, and waited for until it is whole."""
    log.write(10)
    reading = Reading(log.path)
    reading.poll()
    log.write(10)
    log.rename()
    log.write(5)
    plain, packed = log.numbered(1), log.numbered(1, {gzip.compress: ".gz", zstandard.compress: ".zst"}[pack])
    data = pack(plain.read_bytes())
    packed.write_bytes(data[: len(data) // 2])
    reading.restart()
    reading.poll(2)
    packed.write_bytes(data)
    os.utime(packed, ns=(plain.stat().st_atime_ns, plain.stat().st_mtime_ns))
    plain.unlink()
    reading.restart()

    reading.poll()

    assert reading.values == log.lines


@pytest.mark.parametrize("rotate", ROTATIONS.values(), ids=ROTATIONS)
@pytest.mark.parametrize("down", [False, True], ids=["running", "down"])
def test_a_rotation_before_the_first_record_loses_nothing(log, rotate, down):
    """FIL-11: an offset says first from when on files are read."""
    reading = Reading(log.path)
    reading.poll()
    log.write(5)
    rotate(log)
    log.write(5)
    if down:
        reading.restart()

    reading.poll()

    assert reading.values == log.lines


def test_a_file_that_was_read_may_be_gone_once_the_next_one_has_begun(log):
    """FIL-11: the next one may be empty, so that no record says so."""
    log.write(5)
    reading = Reading(log.path)
    reading.poll()
    log.rename()
    reading.poll()
    log.numbered(1).unlink()
    reading.restart()
    log.write(5)

    reading.poll()

    assert reading.values == log.lines


def test_a_writer_may_go_on_in_the_renamed_file_for_a_while(log):
    """FIL-11: it has to open the new one first."""
    log.write(5)
    reading = Reading(log.path, rotation_wait_ms="60000")
    reading.poll()
    log.rename()
    log.path.write_bytes(b"from another process, younger\n")
    reading.poll(5)
    with log.numbered(1).open("ab") as late:
        late.write(b"late\n")

    reading.poll()

    assert reading.values == [*log.lines, b"late", b"from another process, younger"]


def test_only_the_last_rotated_file_may_still_be_written_to(log):
    """FIL-11: a worker that was down for long does not wait at each of many files."""
    log.write(5)
    reading = Reading(log.path, rotation_wait_ms="60000")
    reading.poll()
    for _ in range(4):
        log.write(5)
        log.rename()
    log.write(5)
    reading.restart()

    reading.poll(6)

    assert reading.values == log.lines[:-5]


def test_a_last_line_without_newline_of_a_rotated_file_is_taken(log):
    """FIL-11: nobody writes its rest."""
    log.write(5)
    log.write(1, end=b"")
    reading = Reading(log.path)
    reading.poll()
    assert reading.values == log.lines[:-1]
    log.rename()
    log.write(2)

    reading.poll()

    assert reading.values == log.lines


def test_the_name_may_be_free_for_a_while(log):
    """FIL-11: also at the start of the connector."""
    log.write(5)
    reading = Reading(log.path)
    reading.poll()
    log.write(5)
    log.rename(create=False)
    reading.restart()
    reading.poll()
    assert reading.values == log.lines
    log.create()
    log.write(5)

    reading.poll()

    assert reading.values == log.lines


def test_rows_of_csv_have_the_header_of_their_file(log):
    """FIL-11."""
    log.path.write_bytes(b"n\n1\n2\n")
    reading = Reading(log.path, format="csv")
    reading.poll()
    log.rename()
    log.path.write_bytes(b"m\n3\n")

    reading.poll()

    assert reading.values == [b'{"n":"1"}', b'{"n":"2"}', b'{"m":"3"}']


def test_offsets_of_a_connector_that_did_not_follow_rotations_are_taken_over(log):
    """FIL-11: they have no inode."""
    log.write(50)
    (batch,) = start(log.path).polls()
    reading = Reading(log.path)
    reading.values, reading.offset = list(batch.values), batch.source_offset
    log.write(5)
    log.rename()
    log.write(5)
    reading.restart()

    reading.poll()

    assert reading.values == log.lines


def test_offsets_of_a_connector_that_follows_rotations_are_good_for_one_that_does_not(log):
    """FIL-11."""
    log.write(50)
    reading = Reading(log.path)
    reading.poll()
    log.write(5)

    assert start(log.path, {str(log.path): reading.offset}).values() == log.lines[50:]


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("change", ["deleted", "truncated", "replaced"])
def test_a_file_that_is_nowhere_fails_the_task(log, change, running):
    """FIL-11: its lines are lost, and that is said."""
    log.write(50)
    reading = Reading(log.path)
    reading.poll()
    log.path.with_name("other.log").write_bytes(b"other\n")
    if change == "truncated":
        os.truncate(log.path, 0)
    else:
        log.path.rename(log.path.with_name("kept"))
        if change == "replaced":
            log.path.write_bytes(b"other\n" * 500)
        else:
            (log.path.with_name("app.log.1")).write_bytes(b"other\n")
    if not running:
        reading.restart()

    with pytest.raises(DamagedDataError, match=r"app.log was rotated or replaced, and neither it nor a file beside it"):
        reading.poll()


def test_two_copies_of_which_either_may_be_it_fail_the_task(log):
    """FIL-11: one of them would be read twice, or not at all."""
    log.write(50)
    reading = Reading(log.path)
    reading.poll()
    shutil.copy(log.path, log.numbered(1))
    shutil.copy(log.path, log.numbered(2))
    os.truncate(log.path, 0)

    with pytest.raises(DamagedDataError, match=r"was rotated or replaced"):
        reading.poll()


def test_a_malformed_line_is_still_reported_where_it_is(log):
    """FIL-11: it is no rotation."""
    log.path.write_bytes(b"{}\nno\n")
    reading = Reading(log.path, format="jsonl")

    with pytest.raises(DamagedDataError, match=r"app.log, line 2: not JSON"):
        reading.poll()


STEPS = st.lists(
    st.one_of(
        st.integers(1, 60),
        st.sampled_from([*ROTATIONS, "pack", "restart", "poll", "poll", "one poll"]),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_whatever_happens_to_a_log_file_each_line_is_read_once(steps):
    """FIL-11: rotations of both kinds, packing and restarts in any order.

    What was not read yet is read in the file that has it now, then the younger ones.
    """
    with TemporaryDirectory() as folder:
        log = Log(folder)
        log.write(1)
        reading = Reading(log.path, batch_size="20")
        reading.poll(1)
        rotations = 0
        for step in steps:
            if isinstance(step, int):
                log.write(step)
            elif step in ROTATIONS and rotations < 9 and log.path.stat().st_size:
                ROTATIONS[step](log)
                rotations += 1
            elif step == "pack":
                log.pack()
            elif step == "restart":
                reading.restart()
            elif step in ("poll", "one poll"):
                reading.poll(1 if step == "one poll" else 1000)
        reading.poll()

        assert reading.values == log.lines


def test_files_that_one_was_rotated_to_are_not_read_for_themselves(log):
    """FIL-11: even if a pattern fits them."""
    log.write(1)
    log.rename()
    log.path.with_name("other.log.1").write_bytes(b"x\n")

    (share,) = task_properties(f"{log.path.parent}/*", rotation="follow")

    names = [os.path.basename(path) for path in json.loads(share["task.files"])]
    assert names == ["app.log", "other.log.1"]


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({"after.commit": "delete"}, "a file that is followed is never done with"),
        ({"format": "parquet"}, "files of format = parquet are written once"),
        ({"file": "memory://a"}, "which files of URLs have not"),
    ],
)
def test_rotations_that_cannot_be_followed_are_refused(log, properties, what):
    """FIL-04."""
    config = FileSourceConnector.config.parse({"file": str(log.path), "topic": "t", "rotation": "follow", **properties})

    (problem,) = FileSourceConnector().problems(config)

    assert what in str(problem)


@pytest.mark.parametrize("rotate", ROTATIONS.values(), ids=ROTATIONS)
@pytest.mark.eos_zombie(at="commit", nth=2)
def test_zombies_that_follow_rotations_add_nothing(eos, log, rotate):
    """FIL-11: a run, a rotation, another run, a zombie in each."""
    log.write(30)
    properties = {"file": log.path, "batch.size": 7, "rotation": "follow", "rotation.wait.ms": 1}
    run = eos.run(FileSourceConnector, properties)
    log.write(10)
    rotate(log)
    log.write(30)

    eos.run(FileSourceConnector, properties)

    assert eos.topic(run.topics[0]).values() == log.lines
