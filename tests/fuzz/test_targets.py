"""Every input of a fuzz target raises only documented errors.

The inputs are the same in every run; `python -m tests.fuzz.run` searches for others, each night.
"""

from __future__ import annotations

import os

import pytest
from tests.fuzz.mutations import mutations
from tests.fuzz.targets import TARGETS, Target, check, corpus

SEED = int(os.environ.get("EOS_FUZZ_SEED", "1"))


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused_on_purpose(name):
    """Hostile input, wire and disk: each target with its corpus, what once failed among it, then inputs near it."""
    target, samples = TARGETS[name], corpus(name)
    assert samples

    for data in (*samples, *mutations(target, samples, SEED)):
        try:
            check(target, data)
        except Exception as why:
            raise AssertionError(f"{name}: {data.hex()}") from why


def test_mutations_find_a_reader_that_trusts_its_input():
    """The search itself can fail."""
    trusting = Target("trusting", lambda data: data[data[0]], ())

    def search():
        for data in mutations(trusting, (b"\1\2\3",), SEED):
            check(trusting, data)

    with pytest.raises(IndexError):
        search()


def test_mutations_are_the_same_in_every_run():
    """What passed once passes again."""
    first, second = (list(mutations(TARGETS["batch"], corpus("batch"), SEED)) for _ in range(2))

    assert first == second
    assert len(set(first)) > len(first) / 2
