"""Members subscribe by regular expressions of RE2; what Python's would understand otherwise is refused."""

from __future__ import annotations

import pytest

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.modern.regular_expression import compiled


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
    ],
)
def test_an_expression_matches_whole_names(regex, matching, other):
    """GRP-04."""
    assert compiled(regex).fullmatch(matching)
    assert not compiled(regex).fullmatch(other)


@pytest.mark.parametrize(
    "regex",
    [
        *("(", "[a", "a**", "*"),
        *("(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "(?>a)", "(?P=a)", "(?(1)a|b)", "(?#c)", "(?x)a", "(?a)b"),
        *(r"(a)\1", "a++", "a{1,2}+", r"a\Z", r"\Nx", "\\u0041"),
        *(r"\pL", r"\Qa.b\E", r"a\z", "[[:alpha:]]", "[a[:digit:]]", "(?U)a+", r"\C", "a(?i)b"),
    ],
)
def test_what_is_not_of_both_syntaxes_is_refused(regex):
    """GRP-04: with the code of Kafka for what it cannot read."""
    with pytest.raises(KafkaError) as refused:
        compiled(regex)

    assert refused.value.code is Code.INVALID_REGULAR_EXPRESSION
    assert regex in refused.value.message
