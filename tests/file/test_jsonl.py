"""Each line is checked to be JSON."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError

from .task_harness import read, start


def test_a_line_of_json_is_kept_as_it_is(tmp_path):
    """The value is the line, spaces and big numbers included; blank lines are no records."""
    lines = [b'{"a": 1}', b" [1, 2] ", b"null", b"1" * 5000, '"ü"'.encode(), b'{"a":1e400}']
    (tmp_path / "l.jsonl").write_bytes(b"\n\n".join(lines) + b"\r\n  \n")

    assert read(tmp_path / "l.jsonl", format="jsonl") == lines


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{'a': 1}", "not JSON"),
        (b'{"a":1} {"a":2}', "not JSON"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'"\xff"', "not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_a_line_without_json_fails_the_task_naming_file_and_line(tmp_path, line, what):
    """The lines before it are handed out first."""
    (tmp_path / "l.jsonl").write_bytes(b'{"a":1}\n{"a":2}\n' + line + b"\n{}\n")
    driven = start(tmp_path / "l.jsonl", format="jsonl")

    assert len(driven.task.poll()) == 2

    with pytest.raises(DamagedDataError, match=rf"l.jsonl, line 3: .*{what}"):
        driven.task.poll()


def test_lines_that_are_no_json_may_be_skipped_with_a_count(tmp_path):
    """The offsets of the lines around them stay exact."""
    (tmp_path / "l.jsonl").write_bytes(b"{}\nno\n1\n")
    driven = start(tmp_path / "l.jsonl", format="jsonl", malformed="skip", record_offsets=True)

    (batch,) = driven.polls()

    assert [(v, o["position"]) for v, o in zip(batch.values, batch.source_offsets, strict=True)] == [
        (b"{}", 3),
        (b"1", 8),
    ]
    ((kind, text, _),) = driven.context.notices
    assert kind == "malformed line"
    assert "l.jsonl, line 2: not JSON" in text
