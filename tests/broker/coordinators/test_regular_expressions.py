"""Clients choose topics and transactional ids by regular expressions of RE2, as in Kafka."""

from __future__ import annotations

import sys

import pytest

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.regular_expression import compiled


@pytest.mark.parametrize(
    ("regex", "matching", "other"),
    [
        ("orders", "orders", "orders-2"),
        ("^orders-.*$", "orders-2", "my-orders-2"),
        (r"a\.b+?", "a.b", "a-b"),
        ("(?i)ORDERS", "orders", "order"),
        ("(?P<kind>x|y)-[0-9]{2,3}", "y-123", "y-1"),
        ("(?<kind>x|y)", "x", "xy"),
        (r"[\w.]+", "a.b", "a-b"),
        ("[]a]+", "a", "b"),
        (r"[*+]*a\++", "a+", "a"),
        (r"\d\x2d\w", "1-a", "1.a"),
        ("(?:a|b)*", "abab", "abc"),
        ("a{2", "a{2", "aa"),
        (r"\Qa.b\E\z", "a.b", "a-b"),
        ("[[:alpha:]]+", "ab", "a1"),
        ("(a+)+b", "aab", "a" * 249),
    ],
)
def test_an_expression_matches_whole_names(regex, matching, other):
    """GRP-04."""
    assert compiled("Regex", regex).fullmatch(matching)
    assert not compiled("Regex", regex).fullmatch(other)


@pytest.mark.parametrize(
    "regex",
    [
        *("(", "[a", "a**", "*", "a++", r"(a)\1", r"a\Z", "\\u0041"),
        *("(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "(?>a)", "(?P=a)", "(?(1)a|b)", "(?#c)", "(?x)a", "(?a)b"),
    ],
)
def test_an_expression_that_re2_cannot_read_is_refused(regex, capfd):
    """GRP-04: with the code of Kafka."""
    with pytest.raises(KafkaError) as refused:
        compiled("Regex", regex)

    assert refused.value.code is Code.INVALID_REGULAR_EXPRESSION
    assert regex in refused.value.message
    assert capfd.readouterr().err == ""


def test_what_is_missing_to_read_expressions_is_named(monkeypatch):
    """GRP-04."""
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(KafkaError, match=r"pip install 'eosfw-memory\[regex\]'"):
        compiled("Regex", "a+")
