"""The counter behind every verdict."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from eosfw.count_difference import CountDifference, Mismatch

COUNTS = st.dictionaries(st.binary(max_size=2), st.integers(0, 4), max_size=30)


@given(COUNTS, COUNTS)
def test_every_identity_is_seen_as_often_as_expected_or_counted(
    seen: dict[bytes, int], expected: dict[bytes, int]
) -> None:
    difference = CountDifference(limit=3)
    for identity in seen.keys() | expected.keys():
        difference.add(identity, seen.get(identity, 0), expected.get(identity, 0))

    assert difference.excess == (Counter(seen) - Counter(expected)).total()
    assert difference.missing == (Counter(expected) - Counter(seen)).total()
    assert difference.excess - difference.missing == sum(seen.values()) - sum(expected.values())
    assert bool(difference) is (+Counter(seen) != +Counter(expected))


def test_an_unexpected_record_is_no_duplicate() -> None:
    difference = CountDifference(limit=5)
    difference.add("due once", 3, 1)
    difference.add("foreign", 2, 0)
    difference.add("lost", 0, 2)
    difference.add("right", 2, 2)

    assert (difference.duplicates, difference.unexpected, difference.missing) == (2, 2, 2)
    assert difference.excess == 4
    assert difference.examples == (Mismatch("due once", 3, 1), Mismatch("foreign", 2, 0), Mismatch("lost", 0, 2))


def test_few_examples_of_each_kind_are_kept_and_all_are_counted() -> None:
    difference = CountDifference(limit=2)
    for number in range(10):
        difference.add_excess(number, 1)
        difference.add_excess(-number - 1, -1)

    assert (difference.excess, difference.missing) == (10, 10)
    assert [one.identity for one in difference.examples] == [0, 1, -1, -2]
