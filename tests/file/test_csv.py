"""CSV rows become JSON objects, or stay as they are."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError

from .task_harness import read, start


def write(tmp_path, content: bytes):
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("content", "properties", "values"),
    [
        (
            "b,a,ü\n1,x y,\n,,ö\n".encode(),
            {},
            ['{"b":"1","a":"x y","ü":null}'.encode(), '{"b":null,"a":null,"ü":"ö"}'.encode()],
        ),
        (b'a,b\n1,2\r\n"x\ny",3\n', {"value": "raw"}, [b"1,2", b'"x\ny",3']),
        (b"\na,b\n\n1,2\n\r\n3,4\n\n", {"value": "raw"}, [b"1,2", b"3,4"]),
        (b"\xef\xbb\xbfa,b\n1,2\n", {}, [b'{"a":"1","b":"2"}']),
        (b"a\tb\n1,5\t2\n", {"delimiter": r"\t"}, [b'{"a":"1,5","b":"2"}']),
    ],
    ids=[
        "a compact object in the order of the header, empty values null",
        "a raw row as it stands",
        "blank lines are no rows",
        "a byte order mark, as spreadsheets write",
        "another delimiter",
    ],
)
def test_a_row_becomes_a_record(tmp_path, content, properties, values):
    assert read(write(tmp_path, content), format="csv", **properties) == values


def test_a_quoted_newline_stays_inside_its_value(tmp_path):
    """A record may span lines; its offset lies behind all of them."""
    file = write(tmp_path, b'a,b\n1,"x\ny ""z"""\r\n2,t\n')

    driven = start(file, format="csv", record_offsets=True)
    (batch,) = driven.polls()

    assert [json.loads(value) for value in batch.values] == [{"a": "1", "b": 'x\ny "z"'}, {"a": "2", "b": "t"}]
    assert [offset["position"] for offset in batch.source_offsets] == [19, 23]


@pytest.mark.parametrize("value", ["json", "raw"])
@pytest.mark.parametrize(
    ("rows", "line", "what"),
    [
        (b"1,2\n3\n4,5\n", 3, "1 columns, where the header has 2"),
        (b"1,2\n3,4,5\n4,5\n", 3, "3 columns, where the header has 2"),
        (b"1,2\n\xff,4\n4,5\n", 3, "not UTF-8"),
        (b'1,2\n"3"x,4\n4,5\n', 3, "a quote that is not closed, or a stray one"),
        (b'"x\ny",2\n3\n4,5\n', 4, "1 columns"),
    ],
)
def test_a_malformed_row_fails_the_task_by_file_and_line(tmp_path, value, rows, line, what):
    """Valid rows before it are returned first; no row behind it is returned."""
    file = write(tmp_path, b"a,b\n" + rows)
    driven = start(file, format="csv", value=value)

    assert len(driven.task.poll()) == 1

    with pytest.raises(DamagedDataError, match=rf"rows.csv, line {line}: {what}.*malformed = skip"):
        driven.task.poll()


@pytest.mark.parametrize("value", ["json", "raw"])
def test_malformed_rows_may_be_skipped_with_a_count(tmp_path, value):
    """`malformed = skip` tells of each skipped row, with its file and line, once."""
    file = write(tmp_path, b'a,b\n1,2\n3\n\xff,1\n4,5\n"6"7\n8,9\n')
    driven = start(file, format="csv", value=value, malformed="skip", batch_size="1")

    values = driven.values()

    assert len(values) == 3
    assert driven.task.at_end() is True
    assert [(kind, count) for kind, _, count in driven.context.notices] == [("malformed line", 1)] * 3
    assert [text.split("line ")[1].split(":")[0] for _, text, _ in driven.context.notices] == ["3", "4", "6"]


@pytest.mark.parametrize("malformed", ["fail", "skip"])
def test_a_row_with_an_unfinished_quoted_value_waits(tmp_path, malformed):
    """As a line without its newline does, which `incomplete.last.line` decides."""
    file = write(tmp_path, b'a,b\n1,2\n3,"first line\nsecond')
    driven = start(file, format="csv", malformed=malformed)

    assert driven.values() == [b'{"a":"1","b":"2"}']
    for part in (b" line\n", b"third line\n"):
        with file.open("ab") as growing:
            growing.write(part)
        assert driven.values() == []
        assert driven.task.at_end() is True
    ((kind, text, _),) = driven.context.notices
    assert kind == "waiting line"
    assert "rows.csv, line 3: a quoted value is not closed yet" in text

    with file.open("ab") as growing:
        growing.write(b'last"\n5,6\n')

    assert driven.values() == [
        b'{"a":"3","b":"first line\\nsecond line\\nthird line\\nlast"}',
        b'{"a":"5","b":"6"}',
    ]


@pytest.mark.parametrize("rest", [b"4,5\n", b"4,5"])
def test_a_quote_that_a_finished_file_leaves_open_is_malformed(tmp_path, rest):
    """`incomplete.last.line = emit` says that nothing will close it; what follows it is not missed."""
    file = write(tmp_path, b'a,b\n1,2\n3,"4\n' + rest)

    with pytest.raises(DamagedDataError, match=r"rows.csv, line 3: a quote that is never closed.*malformed = skip"):
        start(file, format="csv", incomplete_last_line="emit").polls()

    driven = start(file, format="csv", incomplete_last_line="emit", malformed="skip")
    assert driven.values() == [b'{"a":"1","b":"2"}', b'{"a":"4","b":"5"}']
    ((kind, text, _),) = driven.context.notices
    assert kind == "malformed line"
    assert "rows.csv, line 3" in text


@pytest.mark.parametrize("malformed", ["fail", "skip"])
def test_a_header_that_names_a_column_twice_is_refused(tmp_path, malformed):
    """An object cannot hold both values; nor can a header be skipped, so nobody is told to."""
    file = write(tmp_path, b"a,b,a\n1,2,3\n")

    told = r"rows.csv, line 1: the header names 'a' more than once; a JSON object cannot; correct the file"
    with pytest.raises(DamagedDataError, match=told):
        read(file, format="csv", malformed=malformed)


def test_a_header_alone_has_no_rows(tmp_path):
    """An empty table is no error, and it may grow."""
    file = write(tmp_path, b"a,b")
    driven = start(file, format="csv")

    assert (driven.values(), driven.task.at_end()) == ([], True)
    with file.open("ab") as growing:
        growing.write(b"\n1,2\n")

    assert driven.values() == [b'{"a":"1","b":"2"}']


texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)
tables = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        st.lists(texts.filter(bool), min_size=width, max_size=width, unique=True),
        st.lists(st.lists(texts, min_size=width, max_size=width), max_size=12),
    )
)


@given(tables, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.sampled_from(["\n", "\r\n"]))
def test_csv_written_by_python_is_read_back_unchanged(tmp_path_factory, table, quoting, line_end):
    """Any values are kept, and the object equals the output of the json module."""
    header, rows = table
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator=line_end)
    writer.writerows([header, *rows])
    file = tmp_path_factory.mktemp("csv") / "rows.csv"
    file.write_bytes(text.getvalue().encode())

    values = read(file, format="csv")

    objects = [dict(zip(header, (value or None for value in row), strict=True)) for row in rows]
    assert values == [json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() for row in objects]
