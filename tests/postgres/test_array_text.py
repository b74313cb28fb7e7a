"""The text of arrays, hstore, intervals and money, and names of defaults."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DataError
from eosfw_postgres.types import TypeSettings, catalog_of, column_type
from eosfw_postgres.types.arrays import array_parser, split_array
from eosfw_postgres.types.intervals import iso_interval, micro_duration
from eosfw_postgres.types.numbers import money_of
from eosfw_postgres.types.opaque import hstore_json, hstore_map
from postgres.golden.answers import answers

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NESTED: st.SearchStrategy[Any] = st.lists(st.none() | TEXTS) | st.lists(
    st.lists(st.none() | TEXTS, min_size=2), min_size=1
)


def quoted(value: Any) -> str:
    """What `array_out` may write: quotes are always allowed."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "{" + ",".join(map(quoted, value)) + "}"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@given(NESTED)
def test_every_text_of_an_array_is_split_into_its_elements(elements: list[Any]) -> None:
    """PGC-32: whatever the elements hold, quoted."""
    assert split_array(quoted(elements)) == elements


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("{}", []),
        ("{1,NULL,3}", ["1", None, "3"]),
        ('{"NULL",null}', ["NULL", "null"]),
        ("{a b,c\\,d}", ["a b", "c,d"]),
        ("[0:1]={7,8}", ["7", "8"]),
        ('[5:5]={"="}', ["="]),
        ('{"",;}', ["", ";"]),
        ("{{1,2},{3,4}}", [["1", "2"], ["3", "4"]]),
    ],
)
def test_texts_of_arrays_as_the_server_writes_them(text: str, elements: list[Any]) -> None:
    """PGC-32: with and without quotes, bounds, dimensions."""
    assert split_array(text) == elements


@pytest.mark.parametrize("text", ["", "1", "{", '{"a}', "{a}}{"])
def test_what_is_no_array_is_refused_without_its_value(text: str) -> None:
    """PGC-32: an error has no value in it."""
    with pytest.raises(DataError, match="no text of an array"):
        split_array(text)


def test_an_array_of_several_dimensions_is_refused_by_name() -> None:
    """PGC-32: no schema of Connect can say it."""
    with pytest.raises(DataError, match="several dimensions"):
        array_parser(list, ",")("{{1,2},{3,4}}")


def test_boxes_are_split_at_semicolons() -> None:
    """PGC-32: pg_type.typdelim."""
    assert split_array("{(1,1),(0,0);(2,2),(1,1)}", ";") == ["(1,1),(0,0)", "(2,2),(1,1)"]


@pytest.mark.parametrize(
    ("text", "pairs", "json"),
    [
        ("", {}, "{}"),
        ('"a"=>"1", "b"=>NULL', {"a": "1", "b": None}, '{"a":"1","b":null}'),
        (r'"q\"\\"=>"=>", "NULL"=>"NULL"', {'q"\\': "=>", "NULL": "NULL"}, r'{"q\"\\":"=>","NULL":"NULL"}'),
    ],
)
def test_hstore_is_a_mapping_or_json(text: str, pairs: dict[str, Any], json: str) -> None:
    """PGC-31: hstore.handling.mode."""
    assert (hstore_map(text), hstore_json(text)) == (pairs, json)


@pytest.mark.parametrize(
    ("text", "micros", "iso"),
    [
        ("00:00:00", 0, "P0Y0M0DT0H0M0S"),
        ("1 mon", 2_629_800_000_000, "P0Y1M0DT0H0M0S"),
        ("-1 years -2 mons +3 days -04:05:06.5", -36_572_706_500_000, "P-1Y-2M3DT-4H-5M-6.5S"),
        ("10 days 100:00:00", 1_224_000_000_000, "P0Y0M10DT100H0M0S"),
        ("infinity", (1 << 63) - 1, "infinity"),
    ],
)
def test_intervals_are_microseconds_or_iso_8601(text: str, micros: int, iso: str) -> None:
    """PGC-31: interval.handling.mode, with negative parts and infinity."""
    assert (micro_duration(text), iso_interval(text)) == (micros, iso)


@pytest.mark.parametrize("text", ["$1,234.56", "1.234,56 €", "1234.56", "1 234,56"])
def test_money_is_read_whatever_the_locale_writes(text: str) -> None:
    """PGC-31: the last digits are those behind the point."""
    assert money_of("precise", 2)(text) == Decimal("1234.56")
    assert money_of("string", 2)(f"-{text}") == "-1234.56"


def test_a_domain_over_an_enum_has_the_values_of_the_enum() -> None:
    """PGC-31: with the labels; Debezium does not start with such a type in the database."""
    rows = [(1, "mood", "e", 0, 0, -1, ["sad", "happy"]), (2, "mine", "d", 0, 1, -1, None)]

    kind = column_type(2, -1, TypeSettings(), catalog_of(rows))

    assert kind is not None
    assert kind.schema.parameters == {"allowed": "sad,happy"}


@pytest.mark.parametrize("name", ["citext", "ltree", "isbn"])
def test_types_of_extensions_are_known_by_name(name: str) -> None:
    """PGC-31: their oids differ from database to database."""
    kind = column_type(70_000, -1, TypeSettings(), catalog_of([(70_000, name, "b", 0, 0, -1, None)]))

    assert kind is not None
    assert kind.parse(["a", None]) == ["a", None]


def test_numbers_that_no_decimal_can_be_are_refused_with_the_property_to_set() -> None:
    """PGC-31: NaN with decimal.handling.mode=precise."""
    catalog = catalog_of(answers()["types"])
    for typmod in (-1, (10 << 16 | 2) + 4):
        kind = column_type(1700, typmod, TypeSettings(), catalog)
        assert kind is not None
        with pytest.raises(DataError, match=r"decimal\.handling\.mode"):
            kind.parse(["NaN"])
