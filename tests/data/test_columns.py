"""Strings held as their bytes, and what becomes of them on their way."""

from __future__ import annotations

import pytest

from eosfw.data import BYTES, STRING, StructColumns, Utf8Strings, fitted_values, selected, struct
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
