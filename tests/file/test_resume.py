"""Resuming at any committed offset gives exactly the rest."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .task_harness import start

PIECES = st.sampled_from(
    [b"\n", b"\r\n", b"a,b", b",", b'"', b'"x\ny"', b"1", b"\xff", "ü".encode(), b"\\", b"", b"0" * 40]
)
CONTENTS = st.lists(PIECES, max_size=60).map(b"".join)
TABLES = st.lists(
    st.sampled_from([b"1,2\n", b'"x\ny",2\r\n', b"3\n", b"\n", b"\xff,1\n", b'"4""",\n', b'"5,6\n']), max_size=30
).map(b"".join)
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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(CONTENTS | TABLES, READINGS, st.data())
def test_a_file_read_while_written_gives_the_same_records(tmp_path, content, reading, data):
    """However the writer's flushes cut the lines, they are read as if the file had been there from the start."""
    if reading.get("incomplete_last_line") == "emit":
        reading = {}  # for finished files only
    file, content = tmp_path / "source", b"a,b\n" + content
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


def records(driven):
    return [
        (value, offset)
        for batch in driven.polls()
        for value, offset in zip(batch.values, batch.source_offsets, strict=True)
    ]
