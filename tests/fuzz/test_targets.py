"""Whatever bytes come, only errors of ours come out.

`EOS_FUZZ_SECONDS` says how long each of the first targets is tried: seconds of the processor, so that a busy machine
tries as much. The others are tried a third as long.
"""

from __future__ import annotations

import os
from itertools import count

import pytest
from tests.fuzz.coverage import GUIDED, Coverage
from tests.fuzz.fuzzer import Target, fuzz
from tests.fuzz.targets import TARGETS, corpus

SECONDS = float(os.environ.get("EOS_FUZZ_SECONDS", "1"))
FIRST = ("batch-header", "request", "transaction-record", "snapshot")
"""Where strangers' bytes arrive, and what transactions are recovered from."""
SEED = int(os.environ.get("EOS_FUZZ_SEED", "1"))


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_lead_to_an_error_that_nobody_raised_on_purpose(name):
    """Hostile input, wire and disk: each target with its corpus, what once failed among it."""
    samples = corpus(name)
    assert samples

    found = fuzz(TARGETS[name], samples, SECONDS if name in FIRST else SECONDS / 3, SEED)

    assert found.runs > len(samples)
    assert not found.failures, "\n".join(f"{data.hex()}\n{trace}" for trace, data in found.failures.items())


def test_a_reader_that_trusts_its_input_is_caught():
    """The fuzzer itself can fail."""
    trusting = Target("trusting", lambda data: data[data[0]], ())

    found = fuzz(trusting, (b"\1\2\3",), 0.1, SEED)

    assert any("IndexError" in trace for trace in found.failures)


STAIRS = """
def climb(data):
    if data[:1] == b"E":
        if data[1:2] == b"O":
            if data[2:3] == b"S":
                if data[3:4] == b"!":
                    raise ZeroDivisionError
"""


def climbing():
    """A reader that fails at the end of four steps of which none can be seen from outside, as if it were ours."""
    made: dict[str, object] = {}
    exec(compile(STAIRS, "/src/eosfw_stairs.py", "exec"), made)
    return made["climb"]


@pytest.mark.skipif(not GUIDED, reason="Python 3.12 is the first that tells which lines run")
def test_a_way_that_shows_nothing_outside_is_found_step_by_step():
    """By luck alone it takes 2^32 tries, not 100,000."""
    found = fuzz(Target("stairs", climbing(), ()), (b"....",), 500, SEED, count().__next__)

    assert any("ZeroDivisionError" in trace for trace in found.failures)
    assert found.places >= 8


@pytest.mark.skipif(not GUIDED, reason="Python 3.12 is the first that tells which lines run")
def test_each_place_counts_once_and_anew_for_the_next_target():
    climb = climbing()
    counted = []
    for _ in range(2):
        with Coverage(lambda file: file == "/src/eosfw_stairs.py") as coverage:
            for data in (b"x", b"x", b"E", b"x"):
                climb(data)
                counted.append(coverage.places)

    assert counted[:4] == counted[4:]
    assert counted[0] == counted[1] < counted[2] == counted[3]
