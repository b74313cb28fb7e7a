"""Values made of the server's texts beside those that psycopg reads from its binary formats."""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from struct import Struct
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.errors import DataError
from eosfw_postgres.types import CATALOG_QUERY, ColumnType, TypeSettings, catalog_of, column_type
from eosfw_postgres.types.arrays import split_array
from eosfw_postgres.types.numbers import variable_scale

from .test_rows_in_arrays import values_of_array, values_one_by_one

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 # a timestamp has no zone
SINGLE = Struct("<f")
MICRO = timedelta(microseconds=1)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=5)


def same(value: Any) -> Any:
    return value


def test_a_numeric_has_any_number_of_digits() -> None:
    """PGC-37: PostgreSQL's have more than Python reads as a whole number."""
    made = variable_scale(f"-1{'0' * 5000}.50")
    assert (made["scale"], int.from_bytes(made["value"], "big", signed=True)) == (1, -(10**5001) - 5)
    for special in ("NaN", "Infinity", "-Infinity"):
        with pytest.raises(DataError, match="a numeric is NaN or infinite"):
            variable_scale(special)


def of_struct(value: dict[str, Any]) -> Decimal:
    unscaled = int.from_bytes(value["value"], "big", signed=True)
    return Decimal(unscaled).scaleb(-value["scale"])


def zoned(value: str) -> datetime:
    return datetime.fromisoformat(value)


# For each type: values, and what makes of a value of a record what psycopg reads.
CASES: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any]]] = {
    "int2": (st.integers(-(1 << 15), (1 << 15) - 1), same),
    "int4": (st.integers(-(1 << 31), (1 << 31) - 1), same),
    "int8": (st.integers(-(1 << 63), (1 << 63) - 1), same),
    "float8": (st.floats(allow_nan=False), same),
    "float4": (st.floats(width=32, allow_nan=False), lambda value: SINGLE.unpack(SINGLE.pack(value))[0]),
    "bool": (st.booleans(), same),
    "numeric": (NUMBERS, of_struct),
    "numeric(30,5)": (NUMBERS, same),
    "text": (TEXTS, same),
    "bytea": (st.binary(max_size=50), same),
    "date": (st.dates(), lambda days: date(1970, 1, 1) + timedelta(days=days)),
    "time": (st.times(), lambda micros: (EPOCH + MICRO * micros).time()),
    "timestamp": (MOMENTS, lambda micros: EPOCH + MICRO * micros),
    "timestamp(3)": (
        MOMENTS.map(lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000)),
        lambda millis: EPOCH + MICRO * 1000 * millis,
    ),
    "timestamptz": (MOMENTS.map(lambda one: one.replace(tzinfo=UTC)), zoned),
    "timetz": (st.times(timezones=st.just(UTC)), time.fromisoformat),
    "uuid": (st.uuids(), uuid.UUID),
    "inet": (st.ip_addresses(), ipaddress.ip_address),
    "int4[]": (st.lists(st.none() | st.integers(-(1 << 31), (1 << 31) - 1), max_size=5), same),
    "text[]": (st.lists(st.none() | TEXTS, max_size=5), same),
    "bytea[]": (st.lists(st.none() | st.binary(max_size=9), max_size=5), same),
    "bool[]": (st.lists(st.none() | st.booleans(), max_size=5), same),
}


@pytest.fixture(scope="module")
def reader(running_postgres: Any) -> Any:
    """A session with the settings of the connector's."""
    with running_postgres.connect() as session:
        session.execute("set timezone = 'UTC'")
        yield session


def kind_of(session: psycopg.Connection, name: str) -> ColumnType:
    kind = column_type(*oid_and_typmod(session, name), TypeSettings(), catalog_of(session.execute(CATALOG_QUERY)))
    assert kind is not None
    return kind


def oid_and_typmod(session: psycopg.Connection, name: str) -> tuple[int, int]:
    session.execute(f"create temporary table if not exists of_type as select null::{name} as x")
    found = session.execute(
        "select atttypid::int8, atttypmod from pg_attribute where attrelid = 'of_type'::regclass and attnum = 1"
    ).fetchone()
    session.execute("drop table of_type")
    assert found
    return found[0], found[1]


@pytest.mark.parametrize("name", CASES)
def test_texts_of_the_server_become_the_values_that_its_binary_formats_have(reader: Any, name: str) -> None:
    """PGC-37, PGC-70: random values, written by the server as text and read by psycopg as binary; arrays of texts."""
    strategy, as_read = CASES[name]
    kind = kind_of(reader, name)
    base = name.partition("(")[0]

    @settings(max_examples=12)
    @given(st.lists(strategy, min_size=1, max_size=20))
    def check(values: list[Any]) -> None:
        query = f"select x::{name} from unnest(%s::{base}[]) with ordinality as t(x, n) order by n"
        if name.endswith("[]"):
            query = "select (x.v) from (values " + ", ".join([f"(%s::{name})"] * len(values)) + ") as x(v)"
        given_values = values if name.endswith("[]") else [values]
        texts = [text_of(one) for one in raw(reader, query, given_values)]
        with psycopg.Cursor(reader) as cursor:
            binary = [row[0] for row in cursor.execute(query, given_values, binary=True)]
        assert list(map(as_read, kind.parse(texts))) == binary
        assert values_of_array(kind, texts) == values_one_by_one(kind, texts)

    check()


def raw(session: psycopg.Connection, query: str, values: list[Any]) -> list[bytes | None]:
    """The first column as the server writes it."""
    with psycopg.Cursor(session) as cursor:
        cursor.execute(query, values, binary=False)
        result = cursor.pgresult
        assert result is not None
        return [result.get_value(at, 0) for at in range(result.ntuples)]


def text_of(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def test_every_array_that_the_server_writes_is_split_as_it_was(reader: Any) -> None:
    """PGC-32: any texts, one or two dimensions."""

    @settings(max_examples=60)
    @given(st.lists(st.none() | TEXTS, max_size=6), st.integers(1, 3))
    def check(elements: list[str | None], rows: int) -> None:
        nested = [list(elements) for _ in range(rows)] if rows > 1 and elements else elements
        (text,) = raw(reader, "select %s::text[]", [nested])
        assert text is not None
        assert split_array(text.decode()) == nested

    check()
