"""Whatever bytes come, only errors of ours come out; `EOS_FUZZ_SECONDS` says how long each target is tried."""

from __future__ import annotations

import os

import pytest
from tests.fuzz.fuzzer import Target, fuzz
from tests.fuzz.targets import TARGETS, corpus

SECONDS = float(os.environ.get("EOS_FUZZ_SECONDS", "10"))
SEED = int(os.environ.get("EOS_FUZZ_SEED", "1"))


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_lead_to_an_error_that_nobody_raised_on_purpose(name):
    """Hostile input, wire and disk: each target with its corpus, what once failed among it."""
    samples = corpus(name)
    assert samples

    found = fuzz(TARGETS[name], samples, SECONDS, SEED)

    assert found.runs > len(samples)
    assert not found.failures, "\n".join(f"{data.hex()}\n{trace}" for trace, data in found.failures.items())


def test_a_reader_that_trusts_its_input_is_caught():
    """The fuzzer itself can fail."""
    trusting = Target("trusting", lambda data: data[data[0]], ())

    found = fuzz(trusting, (b"\1\2\3",), 0.1, SEED)

    assert any("IndexError" in trace for trace in found.failures)
