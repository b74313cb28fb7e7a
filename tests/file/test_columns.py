"""Parquet and Arrow IPC: columns stay columns, with their schema; an offset is a part and a row in it."""

from __future__ import annotations

import io
import os
import threading
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from eosfw.data import INT64, STRING, TIMESTAMP, struct
from eosfw.errors import BadRequestError, DamagedDataError
from eosfw_file import FileSourceConnector

from .task_harness import start

TABLE = pa.table({"id": pa.array(range(50), pa.int64()), "name": [f"n{number}" for number in range(49)] + [None]})
ROWS = TABLE.to_pylist()


def write_parquet(path, table=TABLE, rows=20):
    pq.write_table(table, path, row_group_size=rows)


def write_arrow(path, table=TABLE, rows=20):
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=rows)


WRITE = {"parquet": write_parquet, "arrow": write_arrow}


@pytest.fixture(params=WRITE)
def form(request):
    return request.param


@pytest.fixture
def file(form, tmp_path):
    WRITE[form](tmp_path / "a")
    return tmp_path / "a"


def rows(batches):
    return [row for batch in batches for row in batch.values.to_pylist()]


def test_rows_come_as_columns_with_their_schema(file, form):
    """FIL-09: no object for each row."""
    batches = start(file, format=form, batch_size="7").polls()

    assert rows(batches) == ROWS
    assert all(isinstance(batch.values, pa.RecordBatch) for batch in batches)
    assert {batch.value_schema for batch in batches} == {
        struct({"id": INT64.as_optional(), "name": STRING.as_optional()})
    }
    assert max(map(len, batches)) == 7


def test_files_take_turns_and_few_are_open(file, form, monkeypatch):
    """FIL-09: what is left of a batch is read again."""
    monkeypatch.setattr("eosfw_file.task.POLLS_PER_TURN", 2)
    WRITE[form](file.with_name("b"))

    batches = start(file.parent, format=form, batch_size="3").polls()

    for name in "ab":
        own = [batch for batch in batches if batch.source_partition["filename"].endswith(name)]
        assert rows(own) == ROWS
    first = [batch.source_partition["filename"][-1] for batch in batches[:8]]
    assert first == ["a", "a", "b", "b"] * 2


def test_threads_of_arrow_touch_no_file_of_python(file, form, monkeypatch):
    """FIL-09: such a thread would abort the process at its end, if it let go of the file only then."""
    readers = set()

    class Opened(io.FileIO):
        def read(self, size=-1):
            readers.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr("builtins.open", lambda path, mode="r", **_: Opened(path, mode))

    assert rows(start(file, format=form).polls()) == ROWS
    assert readers <= {threading.get_ident()}


@pytest.mark.parametrize("empty", [TABLE.slice(0, 0), TABLE.select([]).slice(0, 0)], ids=["rows", "columns"])
def test_a_file_without_rows_gives_none(form, empty, tmp_path):
    """FIL-09."""
    WRITE[form](tmp_path / "a", empty)
    driven = start(tmp_path / "a", format=form)

    assert (driven.polls(), driven.task.at_end()) == ([], True)


@pytest.mark.parametrize("left", [0, 3, 20, 600])
def test_a_file_without_footer_is_waited_for(file, form, left):
    """FIL-09: somebody is writing it."""
    whole = file.read_bytes()
    file.write_bytes(whole[:left])
    driven = start(file, format=form)

    first = (driven.polls(), driven.task.at_end())
    file.write_bytes(whole)

    assert first == ([], True)
    assert [text for _, text, _ in driven.context.notices] == [
        f"{file}: it has no footer yet, so it waits (incomplete.last.line = wait)"
    ]
    assert not driven.task.at_end()
    assert rows(driven.polls()) == ROWS


def test_a_file_that_must_be_whole_and_is_not_fails_the_task(file, form):
    """FIL-04."""
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(DamagedDataError, match="has no footer, so it is no whole"):
        start(file, format=form, incomplete_last_line="emit").polls()


@pytest.mark.parametrize("change", ["rewritten", "replaced", "shortened"])
@pytest.mark.parametrize("running", [False, True])
def test_a_file_that_changed_is_not_resumed(file, form, change, running):
    """FIL-09: also if it has the same size and the same schema."""
    driven = start(file, format=form, batch_size="10")
    offsets = {str(file): driven.task.poll().source_offset}
    driven.task._readers[0].drop_read_ahead()
    if change == "rewritten":
        WRITE[form](file, TABLE.slice(1), 10)
    elif change == "replaced":
        data = file.read_bytes()
        file.rename(file.with_name("kept"))
        file.write_bytes(data)
    else:
        os.truncate(file, 300)

    with pytest.raises(DamagedDataError, match=r"was replaced or rewritten|is not the file that was read before"):
        driven.polls() if running else start(file, offsets, format=form)


def test_other_files_are_refused(file, form):
    """FIL-04: one sentence that names the format."""
    title = {"parquet": "Parquet", "arrow": "Arrow IPC"}[form]
    file.write_bytes(b"one\ntwo\nthree\n")

    with pytest.raises(DamagedDataError, match=f"a is no {title} file"):
        start(file, format=form)


def test_the_stream_format_of_arrow_is_refused(tmp_path):
    """FIL-04."""
    with pa.ipc.new_stream(str(tmp_path / "a"), TABLE.schema) as stream:
        stream.write_table(TABLE)

    with pytest.raises(DamagedDataError, match="is no Arrow IPC file \\(it is Arrow's stream format"):
        start(tmp_path / "a", format="arrow")


def test_damaged_data_fails_the_task_behind_the_rows_before_it(tmp_path):
    """FIL-09: the error has no value of a row."""
    table = pa.table({"name": ["secret" * 9] * 2000})
    pq.write_table(table, tmp_path / "a", row_group_size=1000, compression="gzip", use_dictionary=False)
    offset = pq.ParquetFile(tmp_path / "a").metadata.row_group(1).column(0).data_page_offset
    data = bytearray((tmp_path / "a").read_bytes())
    data[offset + 4 : offset + 60] = b"\xff" * 56
    (tmp_path / "a").write_bytes(data)
    driven = start(tmp_path / "a", format="parquet", batch_size="500")

    assert [len(driven.task.poll()) for _ in range(2)] == [500, 500]
    with pytest.raises(DamagedDataError, match=r"a cannot be read") as raised:
        driven.task.poll()
    assert "secret" not in str(raised.value)


NOON = datetime(2026, 7, 1, 12)  # noqa: DTZ001 without time zone


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 12), ("Europe/Berlin", 10)], ids=["UTC", "Berlin"])
def test_timestamps_without_time_zone_have_the_one_that_is_given(form, zone, hour, tmp_path):
    """FIL-09."""
    WRITE[form](tmp_path / "a", pa.table({"at": [NOON], "id": [1]}))

    (batch,) = start(tmp_path / "a", format=form, timestamp_timezone=zone).polls()

    assert batch.value_schema.field("at") == TIMESTAMP.as_optional()
    assert batch.values["at"][0].as_py().astimezone(UTC) == datetime(2026, 7, 1, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (pa.array([NOON]), "field 'c': a timestamp without time zone .* or say by timestamp.timezone"),
        (pa.array([1], pa.uint64()), "field 'c': Arrow's type uint64 has no counterpart"),
        (
            pa.array([1], pa.decimal256(39)),
            "field 'c': Arrow's type decimal256.39, 0. may have more than 38 digits: cast",
        ),
    ],
)
def test_columns_without_schema_are_refused_by_name(form, column, what, tmp_path):
    """FIL-04."""
    WRITE[form](tmp_path / "a", pa.table({"c": column}))

    with pytest.raises(DamagedDataError, match=what):
        start(tmp_path / "a", format=form).polls()


def test_files_of_other_machines_are_read(form, file):
    """FIL-06, FIL-09: and resumed."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem().pipe_file("/in/a", file.read_bytes())
    first, *_ = start("memory://in/a", format=form, batch_size="7").polls()

    again = start("memory://in/a", {"memory://in/a": first.source_offset}, format=form).polls()

    assert rows([first, *again]) == ROWS
    MemoryFileSystem.store.clear()


@pytest.mark.parametrize("table", [TABLE, TABLE.slice(0, 0)], ids=["rows", "none"])
def test_a_file_of_columns_is_moved_behind_its_commit(form, table, tmp_path):
    """FIL-01: and a new one under its name is read."""
    (tmp_path / "in").mkdir()
    WRITE[form](tmp_path / "in" / "a", table)
    after = {"after_commit": "move", "after_commit_folder": str(tmp_path / "done"), "file_poll_interval_ms": "1"}
    driven = start(tmp_path / "in", format=form, **after)

    for round_number in range(2):
        seen = []
        for _ in range(10):
            polled = driven.task.poll() or []
            seen += [one for one in (polled if isinstance(polled, list) else [polled]) if len(one)]
            driven.task.commit()
        assert rows(seen) == (table.to_pylist() if round_number == 0 else ROWS)
        WRITE[form](tmp_path / "in" / "a")

    assert sorted(path.name for path in (tmp_path / "done").iterdir()) == ["a", "a-1"]


def test_a_missing_library_of_columns_is_named(monkeypatch, form, tmp_path):
    """FIL-04."""
    monkeypatch.setattr("eosfw_file.connector.find_spec", lambda _: None)
    (tmp_path / "a").write_bytes(b"")
    config = FileSourceConnector.config.parse({"file": str(tmp_path / "a"), "topic": "t", "format": form})

    (problem,) = FileSourceConnector().problems(config)

    assert f"format: {form} needs a library: pip install 'eosfw-file[arrow]'" in str(problem)


@pytest.mark.parametrize(
    "offset", [{"row_group": 1}, {"row_group": -1, "row": 1}, {"batch": 1, "row": "2"}, {"batch": True, "row": 2}]
)
def test_offsets_that_no_task_could_resume_from_are_refused(offset):
    """FIL-04: `PATCH /connectors/NAME/offsets`."""
    with pytest.raises(BadRequestError, match="is expected to be a whole number"):
        FileSourceConnector().alter_offsets({}, [({"filename": "/a"}, offset)])


def test_offsets_of_rows_may_be_changed(file, form):
    part = {"parquet": "row_group", "arrow": "batch"}[form]

    assert FileSourceConnector().alter_offsets({}, [({"filename": "/a"}, {part: 1, "row": 3, "id": "x"})])


def test_an_offset_of_lines_is_none_of_columns(file, form):
    """FIL-04: after a change of the format."""
    with pytest.raises(DamagedDataError, match="is none of format"):
        start(file, {str(file): {"position": 10, "id": "x"}}, format=form)


@pytest.mark.parametrize("kind", ["lines", "csv", "jsonl"])
def test_a_time_zone_of_lines_is_refused(kind, tmp_path):
    """FIL-04."""
    (tmp_path / "a").write_bytes(b"")
    given = {"file": str(tmp_path / "a"), "topic": "t", "format": kind, "timestamp.timezone": "UTC"}

    (problem,) = FileSourceConnector().problems(FileSourceConnector.config.parse(given))

    assert f"has no meaning with format = {kind}" in str(problem)
