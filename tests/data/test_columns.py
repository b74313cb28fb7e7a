"""Strings held as their bytes, values that are repeated, and what becomes of them on their way."""

from __future__ import annotations

import pytest

from eosfw.data import BYTES, INT64, STRING, RepeatedValue, StructColumns, Utf8Strings, fitted_values, selected, struct
from eosfw.errors import DataError

TEXTS = ["", "a", "ä€😀", "\ufffd"]
STRINGS = Utf8Strings([b"", b"a", "ä€😀".encode(), b"\xff"])


def test_bytes_are_strings_to_those_who_read_them() -> None:
    """SCH-10."""
    assert list(STRINGS) == [STRINGS[at] for at in range(len(STRINGS))] == TEXTS
    assert STRINGS == TEXTS
    assert STRINGS[1:3] == TEXTS[1:3]
    assert selected(STRINGS, [True, False, True, False]) == [TEXTS[0], TEXTS[2]]


def test_bytes_stay_as_they_are_where_nobody_reads_them() -> None:
    """SCH-10: also as the field of a struct."""
    assert fitted_values(STRING, STRINGS) is STRINGS
    assert isinstance(STRINGS[1:], Utf8Strings)
    assert isinstance(selected(STRINGS, [True] * 4), Utf8Strings)
    columns = fitted_values(struct({"line": STRING}), StructColumns({"line": STRINGS}, 4))
    assert isinstance(columns, StructColumns)
    assert columns.columns["line"] is STRINGS


def test_strings_fit_no_other_schema() -> None:
    """SCH-10."""
    with pytest.raises(DataError, match="its schema wants BYTES"):
        fitted_values(BYTES, STRINGS)


def test_a_repeated_value_is_a_sequence_of_it() -> None:
    """SCH-13."""
    three = RepeatedValue("a", 3)
    assert list(three) == [three[at] for at in range(-3, 0)] == ["a"] * 3
    assert three == ["a", "a", "a"]
    assert len(three[1:]) == 2
    with pytest.raises(IndexError):
        three[3]
    with pytest.raises(TypeError):
        hash(three)


def test_a_repeated_value_is_checked_once_and_stays_one_value() -> None:
    """SCH-13: also a struct, and as the field of one."""
    inner = struct({"id": INT64})
    schema = struct({"one": inner, "name": STRING.as_optional()})
    structs = StructColumns({"one": RepeatedValue({"id": 1}, 4), "name": RepeatedValue(None, 4)}, 4)

    kept = selected(fitted_values(schema, structs), [True, False, True, True])

    assert list(kept) == [{"one": {"id": 1}, "name": None}] * 3
    assert isinstance(kept, StructColumns)
    assert {type(one) for one in kept.columns.values()} == {RepeatedValue}
    assert isinstance(fitted_values(inner, RepeatedValue({"id": 1}, 2)), RepeatedValue)
    with pytest.raises(DataError):
        fitted_values(INT64, RepeatedValue("a", 2))
