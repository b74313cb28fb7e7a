"""Rows that are held as arrays of texts give what each row by itself gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eosfw.data import ArrowValues, Field, Schema, fitted, is_arrow
from eosfw.errors import DataError
from eosfw_postgres import copy_text
from eosfw_postgres.copy_text import rows_of_lines
from eosfw_postgres.envelope import UnexpectedNullError
from eosfw_postgres.envelope.row_columns import RowColumns, ShownColumn
from eosfw_postgres.replication import changes
from eosfw_postgres.row_arrays import RowArrays, are_enough_for_arrays
from eosfw_postgres.types import ColumnType, catalog_of, column_type
from postgres.golden.answers import answers
from postgres.golden.debezium_cases import MODES, TABLES

from .reading import reading
from .test_types_as_debezium import settings_of

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.text("\\N\t\n\rtb\"',;é😀 ")
ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def values_of_array(kind: ColumnType, texts: list[str | None]) -> list[str] | None:
    """How the values of an array of texts are shown, as their schema wants them; None if they are refused."""
    columns = RowColumns([ShownColumn(0, "x", Field("x", kind.schema.as_optional()), kind, None)], "t", "fail", print)
    return _shown(kind, columns, RowArrays([pa.array(texts, pa.string())], len(texts)))


def values_one_by_one(kind: ColumnType, texts: list[str | None]) -> list[str] | None:
    """The same of texts in lists."""
    columns = RowColumns([ShownColumn(0, "x", Field("x", kind.schema.as_optional()), kind, None)], "t", "fail", print)
    return _shown(kind, columns, [[text] for text in texts])


def _shown(kind: ColumnType, columns: RowColumns, rows: Any) -> list[str] | None:
    schema: Schema = kind.schema.as_optional()
    try:
        made = columns.structs(rows).columns["x"]
        plain = ArrowValues(made) if is_arrow(made) else made
        return [repr(fitted(schema, one)) for one in plain]
    except DataError:
        return None


@pytest.mark.parametrize("mode", MODES)
def test_arrays_of_texts_of_every_type_have_the_values_that_each_text_has(mode: str) -> None:
    """PGC-70: all together, and each alone, since one that is unusual may hide the others."""
    catalog = catalog_of(answers()["types"])
    for table in TABLES:
        described = answers()["tables"].get(table, {"columns": ()})
        for at, (_, oid, typmod, *_) in enumerate(described["columns"]):
            kind = column_type(oid, typmod, settings_of(mode), catalog)
            texts = [row[at] for row in described["rows"]]
            for some in (texts, *([text] for text in texts)):
                assert kind is None or values_of_array(kind, some) == values_one_by_one(kind, some)


MOMENTS = (
    "2026-11-25 13:41:52.218994+00",
    "2026-11-25 13:41:52.2189+00",
    "2026-11-25 13:41:52+00",
    "12026-11-25 13:41:52.21899+00",
    "0044-03-15 12:00:00+00 BC",
    "1890-01-01 00:00:00.123456+00:53:28",
    "infinity",
    "-infinity",
)


@pytest.mark.parametrize("precision", [-1, 0, 3, 6])
def test_unusual_timestamps_in_arrays_are_those_of_each(precision: int) -> None:
    """PGC-70: other lengths, eras, offsets, infinity."""
    oids = {one.name: one.oid for one in catalog_of(answers()["types"]).values()}
    for name in ("timestamptz", "timestamp"):
        kind = column_type(oids[name], precision, settings_of("changes"), catalog_of(answers()["types"]))
        assert kind is not None
        texts = [one if name == "timestamptz" else one.partition("+")[0] for one in MOMENTS]
        for some in ([*texts, None], *([text] for text in texts)):
            assert values_of_array(kind, some) == values_one_by_one(kind, some)


@given(st.lists(st.lists(st.none() | TEXTS, min_size=2, max_size=2), min_size=1))
@example([["\ufeff", "a byte order mark is a character here"]])
def test_lines_of_copy_become_the_rows_that_they_were(rows: list[list[str | None]]) -> None:
    """PGC-70: escapes, nulls and empty texts, one column or two."""
    for width in (1, 2):
        wanted = [row[:width] for row in rows]
        lines = [f"{chr(9).join(map(escaped, row))}\n".encode() for row in wanted]
        for in_arrays in (True, False):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(copy_text, "are_enough_for_arrays", lambda _, chosen=in_arrays: chosen)
                made = rows_of_lines(lines, width)
            assert isinstance(made, RowArrays) == in_arrays
            assert list(made) == wanted
            assert [made[at] for at in range(len(made))] == wanted
            assert list(made[1:]) == wanted[1:]


def escaped(text: str | None) -> str:
    """A value as COPY writes it."""
    return "\\N" if text is None else "".join(ESCAPES.get(one, one) for one in text)


def test_a_null_in_a_column_that_is_not_null_now_is_found() -> None:
    """PGC-70: as in rows."""
    kind = column_type(25, -1, settings_of("changes"), catalog_of(answers()["types"]))
    assert kind is not None
    columns = RowColumns([ShownColumn(0, "x", Field("x", kind.schema), kind, None)], "t", "fail", print)
    with pytest.raises(UnexpectedNullError):
        columns.structs(RowArrays([pa.array(["a", None])], 2))


@pytest.mark.parametrize("size", [200, 1000])
def test_a_snapshot_in_arrays_makes_the_records_of_one_in_lists(
    monkeypatch: pytest.MonkeyPatch, postgres_server: Any, session: Any, size: int
) -> None:
    """PGC-70: a table with all that is common, and values that are not."""
    session.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, note text, price numeric(9,2), paid bool, at timestamptz, day date, "
        "moment timestamp, amount float8, tags text[], data bytea, large numeric)"
    )
    session.execute(
        "INSERT INTO orders SELECT g, CASE WHEN g % 5 > 0 THEN E'it''s\\t\\\\ ' || g END, g / 7.0, g % 2 = 0, "
        "now() - g * interval '1 day', '2026-01-01'::date - g, now()::timestamp - g * interval '1 hour', g / 3.0, "
        "ARRAY['a', g::text], decode(md5(g::text), 'hex'), g ^ 20 FROM generate_series(1, 900) AS g"
    )
    session.execute("INSERT INTO orders (id, at, moment, day) VALUES (901, 'infinity', '0044-03-15 BC', '-infinity')")
    properties = postgres_server.properties | {"snapshot.mode": "initial_only", "max.batch.size": size}
    found = []
    for choose in (are_enough_for_arrays, lambda _: False):
        monkeypatch.setattr(copy_text, "are_enough_for_arrays", choose)
        with reading(properties) as task:
            task.until_drained()
            found.append([(key, {**value, "source": 0} | dict.fromkeys(TIMES, 0)) for _, key, value in task.records])

    assert len(found[0]) == 901
    assert found[0] == found[1]


def test_a_stream_in_arrays_makes_the_records_and_offsets_of_one_by_one(
    monkeypatch: pytest.MonkeyPatch, postgres_server: Any, session: Any
) -> None:
    """PGC-70: transactions of one insert and of many, updates, deletes, another table, a column that is added."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text, price numeric(9,2), at timestamptz)")
    session.execute("CREATE TABLE other (LIKE orders INCLUDING ALL)")
    properties = postgres_server.properties | {"snapshot.mode": "no_data", "flush.lsn.source": "false"}
    with reading(properties) as task:
        task.until_drained()
        start = task.offset
    row = "g, CASE WHEN g % 5 > 0 THEN 'é' || g END, g / 7.0, now()"
    insert = f"INSERT INTO {{}} SELECT {row} FROM generate_series({{}}, {{}}) AS g"
    session.execute(insert.format("orders", 1, 300))
    for one in range(301, 450):
        session.execute(insert.format("orders", one, one))
    session.execute("UPDATE orders SET note = 'changed'")
    session.execute("DELETE FROM orders WHERE id <= 10")
    session.execute(insert.format("other", 1, 200))
    session.execute("ALTER TABLE orders ADD COLUMN more bool DEFAULT true")
    session.execute(insert.format("orders", 1001, 1200))

    made = []
    for in_arrays in (True, False):
        monkeypatch.setattr(changes, "are_enough_for_arrays", lambda _, chosen=in_arrays: chosen)
        made.append(streamed(properties, start, 300))

    assert len(made[0]) == 300 + 149 + 449 + 20 + 200 + 200
    assert made[0] == made[1]


def streamed(properties: Any, start: Any, most: int) -> list[Any]:
    """Keys, values and offsets that are read from an offset on."""
    found = []
    with reading(properties | {"max.batch.size": most}, start) as task:
        while not task.task.at_end():
            for batch in task.poll():
                offsets = batch.source_offsets or ()
                found += list(zip(batch.keys or (), batch.values, offsets, strict=True))
                assert not offsets or offsets[-1] == batch.source_offset
    return found


TIMES = ("ts_ms", "ts_us", "ts_ns")
