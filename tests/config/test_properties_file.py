"""Properties files read as Java reads them, but for names that come twice."""

from __future__ import annotations

import pytest

from eosfw.config.properties_file import parse_properties


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("# a comment\n! another\n\n  \na=1\n", {"a": "1"}),
        ("a=1\r\nb:2\rc 3\nd\te", {"a": "1", "b": "2", "c": "3", "d": "e"}),
        ("a = 1 ", {"a": "1 "}),
        ("a==1\nb=:x", {"a": "=1", "b": ":x"}),
        ("only", {"only": ""}),
        ("a=1,\\\n   2,\\\n   3", {"a": "1,2,3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=x\\", {"a": "x"}),
        ("# no \\\na=1", {"a": "1"}),
        ("a\\ b\\==c\\td\\u00e9", {"a b=": "c\tdé"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=\\q", {"a": "q"}),
        ("a=\n  b=2", {"a": "", "b": "2"}),
    ],
)
def test_a_properties_file_is_read_as_java_reads_it(text: str, found: dict[str, str]) -> None:
    assert parse_properties(text) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1\n\na=canary", "line 3 gives 'a' a second time"),
        ("a=1\nb=\\u12-canary", "line 2 has a malformed"),
        ("=canary", "line 1 has no name"),
    ],
)
def test_a_mistake_is_named_by_its_line_and_not_by_its_value(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        parse_properties(text)

    assert "canary" not in str(refused.value)


def test_a_bad_line_costs_no_more_than_a_good_one() -> None:
    """No backtracking: a file of a megabyte takes as long as its bytes."""
    assert parse_properties("a" * 1_000_000) == {"a" * 1_000_000: ""}
    assert len(parse_properties("a=" + "\\\\" * 500_000)["a"]) == 500_000
