"""A last line without a newline waits, or is taken as it is."""

from __future__ import annotations

import pytest

from .task_harness import read, start


@pytest.mark.parametrize("kind", ["lines", "csv", "jsonl"])
def test_an_incomplete_last_line_waits_counted_and_named(tmp_path, kind):
    """By default it waits; that counts as the end, and the user hears of it once."""
    file = tmp_path / "lines"
    file.write_bytes(b'"a"\n1\n2')
    driven = start(file, format=kind, value="raw")

    values = driven.values()

    assert values == ([b"1"] if kind == "csv" else [b'"a"', b"1"])
    assert driven.task.at_end() is True
    assert driven.task.at_end() is True
    ((kind, text, count),) = driven.context.notices
    assert (kind, count) == ("waiting line", 1)
    assert f"{file}, line 3" in text


def test_a_waiting_line_is_given_once_it_is_whole(tmp_path):
    """Nothing of a line is lost by waiting, nothing given twice."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"first\nsec")
    driven = start(file)
    driven.polls()

    with file.open("ab") as growing:
        growing.write(b"ond\n")

    assert driven.task.at_end() is False
    assert driven.values() == [b"second"]


@pytest.mark.parametrize(("kind", "last"), [("lines", b"2,x"), ("csv", b'{"a":"2","b":"x"}')])
def test_emit_takes_an_incomplete_last_line(tmp_path, kind, last):
    """`incomplete.last.line = emit` is for files that are finished."""
    (tmp_path / "lines").write_bytes(b"a,b\n1,\n2,x")

    driven = start(tmp_path / "lines", format=kind, incomplete_last_line="emit")

    assert driven.values()[-1] == last
    assert driven.task.at_end() is True
    assert driven.context.notices == []


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_the_newline_of_an_emitted_line_is_no_record(tmp_path, line_end):
    """The newline that completes an emitted line belongs to it, in the same run or the next."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"first")
    driven = start(file, incomplete_last_line="emit")
    (batch,) = driven.polls()

    with file.open("ab") as growing:
        growing.write(line_end + b"second\n")

    assert driven.values() == [b"second"]
    assert read(file, {str(file): batch.source_offset}, incomplete_last_line="emit") == [b"second"]


def test_a_file_with_lines_left_is_not_drained(tmp_path):
    """While lines are left to poll, or the file grew, the source is not drained."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"1\n2\n3\n")
    driven = start(file, batch_size="2")

    assert driven.task.at_end() is False
    driven.task.poll()
    assert driven.task.at_end() is False
    driven.polls()
    assert driven.task.at_end() is True
