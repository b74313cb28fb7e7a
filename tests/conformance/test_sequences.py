"""Random walks through requests end the same on the embedded broker and on a real Kafka."""

from __future__ import annotations

import pytest

from .calls import Caller
from .sequences import Walk

pytestmark = pytest.mark.kafka
WALKS, STEPS = 30, 40


@pytest.fixture(scope="module")
def callers(embedded, real_kafka):
    made = [Caller(servers) for servers in (embedded, real_kafka)]
    yield made
    for caller in made:
        caller.close()


@pytest.mark.parametrize("seed", range(WALKS))
def test_both_say_the_same_and_show_the_same_records(callers, seed):
    """PRD, COR, BRK: codes, ids and states after every step; then what a reader of each isolation level sees."""
    ours, kafkas = [Walk(caller, seed) for caller in callers]

    assert ours.steps(STEPS) == kafkas.steps(STEPS)
    assert ours.seen() == kafkas.seen()
