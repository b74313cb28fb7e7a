"""Random walks through requests end the same on the embedded broker and on a real Kafka."""

from __future__ import annotations

import itertools
import random

import pytest

from .calls import Caller
from .sequences import Walk
from .walk_comparison import parted

STEPS = 60
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 40))]


@pytest.fixture(scope="module")
def callers(embedded, undisturbed_kafka):
    made = [Caller(servers) for servers in (embedded, undisturbed_kafka)]
    yield made
    for caller in made:
        caller.close()


@pytest.mark.kafka
@pytest.mark.parametrize("seed", SEEDS)
def test_kafka_and_embedded_broker_agree_on_recorded_walks(callers, seed):
    """PRD, COR, BRK, GRP: codes, ids, states after every step; then records by isolation level, offsets, ends."""
    assert parted(callers, seed, STEPS) is None


@pytest.mark.kafka
@pytest.mark.nightly
@pytest.mark.parametrize("number", range(20))
def test_kafka_and_embedded_broker_agree_on_new_random_walks(callers, number):
    """PRD, COR, BRK, GRP: another seed in every run; a failure names it for `conformance.walk_comparison`."""
    seed = random.SystemRandom().randrange(1 << 32)

    assert parted(callers, seed, STEPS) is None, f"walk {number}: --first {seed} --walks 1"


def test_the_walk_comparison_detects_a_wrong_answer(embedded, monkeypatch):
    """The comparison itself can fail."""
    callers = [Caller(embedded), Caller(embedded)]
    same = parted(callers, 3, STEPS)
    answered = itertools.count()
    monkeypatch.setattr(
        Walk, "_answer_text", lambda _, message: f"{message}" if next(answered) != 9 else "something else"
    )
    other = parted(callers, 3, STEPS)
    for caller in callers:
        caller.close()

    assert same is None
    assert other is not None
    assert other.startswith("seed 3, step 4:")
