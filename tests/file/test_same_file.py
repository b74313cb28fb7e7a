"""A file that is no longer the one that was read fails its task."""

from __future__ import annotations

import errno
import os

import pytest

from eosfw.errors import DamagedDataError, RetriableError

from .task_harness import read, start

REMEDY = "restore the file as it was, or give the connector another name"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"".join(b"line %04d\n" % number for number in range(1000)))
    return path


def halfway(file):
    driven = start(file, batch_size="500")
    batch = driven.task.poll()
    driven.task._readers[0].drop_read_ahead()  # forget what was read ahead, as at the end of a turn
    return driven, {str(file): batch.source_offset}


def truncate(file):
    os.truncate(file, 100)


def rewrite(file):
    file.write_bytes(b"other\n" * 2000)


def replace(file):
    content = file.read_bytes()
    file.rename(file.with_name("kept"))
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "what"),
    [(truncate, "was truncated: it has 100 bytes"), (rewrite, "was replaced or rewritten"), (replace, "was replaced")],
)
def test_a_file_changed_while_it_is_read_fails_the_task(file, change, what):
    """The message names the file and the remedy."""
    driven, _ = halfway(file)

    change(file)

    with pytest.raises(DamagedDataError, match=rf"{file} {what}.*{REMEDY}"):
        driven.task.poll()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (truncate, "was truncated: it has 100 bytes"),
        (rewrite, "is not the file that was read before"),
        (replace, "is not the file that was read before"),
    ],
)
def test_a_file_changed_between_runs_is_not_resumed(file, change, what):
    """Going on in another file would lose some of its lines and never say so."""
    _, offsets = halfway(file)

    change(file)

    with pytest.raises(DamagedDataError, match=rf"{file} {what}.*{REMEDY}"):
        start(file, offsets)


def test_a_file_that_disappears_while_it_is_read_fails_the_task(file):
    """Bad input: the error names the file and the position."""
    driven, _ = halfway(file)

    file.unlink()

    with pytest.raises(DamagedDataError, match=rf"{file} disappeared while it was read, at byte 5000; {REMEDY}"):
        driven.task.poll()


def test_lines_read_before_a_change_are_returned_before_the_failure(file):
    """Lines read from the sound file are neither lost nor a reason to fail early."""
    driven = start(file, batch_size="300")
    driven.task.poll()

    file.unlink()

    assert len(driven.task.poll()) == 300
    assert len(driven.task.poll()) == 300
    assert len(driven.task.poll()) == 100
    with pytest.raises(DamagedDataError, match="disappeared"):
        driven.task.poll()


def test_a_small_file_keeps_its_fingerprints_while_it_grows(tmp_path):
    """An id covers only bytes before its position, and those never change by appending."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"1\n2\n")
    early = start(file, record_offsets=True).polls()[0]

    with file.open("ab") as growing:
        growing.write(b"3\n" * 5000)

    late = start(file, record_offsets=True).polls()[0]
    assert late.source_offsets[:2] == early.source_offsets
    assert len(read(file, {str(file): early.source_offset})) == 5000
    assert {offset["id"] for offset in late.source_offsets if offset["position"] >= 1024} == {late.source_offset["id"]}


def test_a_file_may_grow_while_it_is_read(file):
    """Appending is no change of the file."""
    driven, _ = halfway(file)

    with file.open("ab") as growing:
        growing.write(b"one more\n")

    assert driven.values()[-1] == b"one more"


def test_offsets_of_kafka_s_own_file_connector_are_taken_over(file):
    """FileStreamSource commits a position without an id."""
    assert read(file, {str(file): {"position": 9990}}) == [b"line 0999"]


@pytest.mark.parametrize("offset", [{}, {"position": "7"}, {"position": -1}, {"position": 7, "id": 3}])
def test_a_foreign_source_offset_is_refused(file, offset):
    """Starting from zero instead would repeat everything."""
    with pytest.raises(DamagedDataError, match=rf"{file}: its committed offset .* is none of this connector's"):
        start(file, {str(file): offset})


def test_a_file_that_no_descriptor_is_left_for_is_read_later(file, monkeypatch):
    """FIL-04: other parts of the process close theirs; the file is as it was."""
    driven, _ = halfway(file)

    def refused(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as full:
        full.setattr(os, "open", refused)
        with pytest.raises(RetriableError, match=r"cannot be opened now: Too many open files; raise `ulimit -n`"):
            driven.task.poll()

    assert driven.values() == [b"line %04d" % number for number in range(500, 1000)]
