"""Resuming at any committed offset gives exactly the rest."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosfw_file import reader

from .task_harness import start

PIECES = st.sampled_from(
    [b"\n", b"\r\n", b"a,b", b",", b'"', b'"x\ny"', b"1", b"\xff", "ü".encode(), b"\\", b"", b"0" * 40]
)
CONTENTS = st.lists(PIECES, max_size=60).map(b"".join)
TABLES = st.lists(
    st.sampled_from([b"1,2\n", b'"x\ny",2\r\n', b"3\n", b"\n", b"\xff,1\n", b'"4""",\n', b'"5,6\n']), max_size=30
).map(lambda rows: b"a,b\n" + b"".join(rows))
READINGS = st.sampled_from(
    [
        {},
        {"incomplete_last_line": "emit"},
        {"format": "csv", "malformed": "skip"},
        {"format": "csv", "malformed": "skip", "value": "raw"},
        {"format": "csv", "malformed": "skip", "incomplete_last_line": "emit"},
        {"format": "jsonl", "malformed": "skip"},
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(CONTENTS | TABLES, READINGS, st.integers(1, 7), st.integers(1, 90), st.data())
def test_a_resumed_task_gives_exactly_what_the_first_one_had_not(
    tmp_path, monkeypatch, content, reading, batch_size, chunk, data
):
    """TXN-01's other half: whatever was committed, the rest follows without loss or repeat; offsets are the same."""
    monkeypatch.setattr(reader, "CHUNK_BYTES", chunk)
    file = tmp_path / "source"
    file.write_bytes(b"a,b\n" + content if reading.get("format") == "csv" else content)
    whole = records(start(file, record_offsets=True, **reading))

    resumed_at = data.draw(st.integers(0, len(whole)))
    offsets = {str(file): whole[resumed_at - 1][1]} if resumed_at else {}
    rest = records(start(file, offsets, record_offsets=True, batch_size=str(batch_size), **reading))

    assert rest == whole[resumed_at:]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(TABLES, READINGS, st.data())
def test_a_file_read_while_written_gives_the_same_records(tmp_path, content, reading, data):
    """However the writer's flushes cut the lines, they are read as if the file had been there from the start."""
    if reading.get("incomplete_last_line") == "emit":
        reading = {}  # for finished files only
    file = tmp_path / "source"
    file.write_bytes(content)
    whole = records(start(file, record_offsets=True, **reading))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=4)))

    file.write_bytes(b"")
    driven, seen, written = start(file, record_offsets=True, **reading), [], 0
    for cut in [*cuts, len(content)]:
        with file.open("ab") as growing:
            growing.write(content[written:cut])
        written = cut
        seen += records(driven)

    assert [value for value, _ in seen] == [value for value, _ in whole]
    assert [offset["position"] for _, offset in seen] == [offset["position"] for _, offset in whole]


@pytest.mark.parametrize("kind", ["lines", "csv", "jsonl"])
def test_offsets_survive_the_offsets_topic(tmp_path, kind):
    """They are JSON all the way."""
    (tmp_path / "source").write_bytes(b"1\n2\n3\n")

    (batch,) = start(tmp_path / "source", format=kind).polls()

    assert json.loads(json.dumps(batch.source_offset)) == batch.source_offset


def records(driven):
    return [
        (value, offset)
        for batch in driven.polls()
        for value, offset in zip(batch.values, batch.source_offsets, strict=True)
    ]
