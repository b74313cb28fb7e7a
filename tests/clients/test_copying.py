"""Consume-transform-produce commits one copy of each record despite kills (KIP-98's test plan)."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from .copying import (
    MESSAGES,
    SOURCE,
    TARGET,
    Copied,
    Team,
    copied,
    fill,
    java_copier,
    points,
    python_copier,
    wait_until,
)
from .reading import LiveReader
from .serving import ServedBroker

BLOWS = {"clients": 6, "broker": 3, "both": 3}
"""How often; a broker takes a second or two to come back."""
PAUSE = 0.01
"""Within each transaction, before and after its offsets are sent: there it shall be hit."""


@pytest.fixture
def broker(tmp_path) -> Iterator[ServedBroker]:
    with ServedBroker(tmp_path / "broker") as served:
        yield served


@pytest.fixture
def dealt(broker, partitions) -> list[list[bytes]]:
    """The records to copy, by partition."""
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    for done in admin.create_topics([NewTopic(name, partitions, 1) for name in (SOURCE, TARGET)]).values():
        done.result(30)
    return fill(broker.address, partitions)


def copy(
    broker: ServedBroker, team: Team, partitions: int, blows: int, strike: Callable[[random.Random], None]
) -> Copied:
    """Copy everything, with blows at points chosen by a seed; each has to hit copiers at work."""
    chance = random.Random(98)
    with LiveReader(broker.address, TARGET, partitions) as reader, team:
        for point in points(chance, blows):
            wait_until(reader, team, point)
            assert reader.count < MESSAGES, "the copiers were done before the blow"
            time.sleep(chance.uniform(0, 3 * PAUSE))  # anywhere in a transaction, not where the reader saw one end
            strike(chance)
        wait_until(reader, team, MESSAGES)
        return copied(reader, broker.address, partitions)


def one_of_each(seen: Copied, dealt: list[list[bytes]]) -> bool:
    """Whether both readers saw each record once, in order where there is one."""
    if len(dealt) == 1:
        return seen.live == seen.final == dealt
    return _merged(seen.live) == _merged(seen.final) == _merged(dealt)


def _merged(partitions: list[list[bytes]]) -> list[bytes]:
    return sorted(itertools.chain.from_iterable(partitions))


SAMPLE = {("clients", False, 1), ("both", True, 3)}
"""Of all that can happen; the rest happens each night."""
COPIES = [
    pytest.param(*case, marks=[] if case in SAMPLE else pytest.mark.nightly)
    for case in itertools.product(BLOWS, (True, False), (1, 3))
]


@pytest.mark.parametrize(("who", "clean", "partitions"), COPIES)
@pytest.mark.timeout(600)
def test_each_record_is_copied_once_despite_kills_and_restarts(broker, dealt, tmp_path, partitions, clean, who):
    """GRP-01, GRP-02, COR-14, CMP-01: one partition keeps its order; several lose, repeat nothing; live, at the end."""
    team = Team(python_copier(broker.address, tmp_path, PAUSE * partitions), partitions)

    def strike(chance: random.Random) -> None:
        if who != "clients":
            broker.bounce(clean=clean)
        if who != "broker":
            team.bounce(chance.randrange(partitions), clean=clean)

    seen = copy(broker, team, partitions, BLOWS[who], strike)

    assert one_of_each(seen, dealt)


@pytest.mark.parametrize("partitions", [1], ids=["ordered"])
def test_kafkas_own_copier_loses_repeats_nothing_when_killed(broker, dealt, java, partitions):
    """GRP-03: by the Java client, some of its transactions aborted; who comes after waits for what is pending."""
    team = Team(java_copier(java, broker.address, "--enable-random-aborts"), partitions)

    seen = copy(broker, team, partitions, 2, lambda _: team.bounce(0, clean=False))

    assert one_of_each(seen, dealt)


@pytest.mark.parametrize("partitions", [3], ids=["unordered"])
def test_kafkas_own_copiers_take_over_from_each_other(broker, dealt, java, partitions):
    """GRP-02: a group of Java clients, rebalanced in the middle of their transactions; the broker killed once."""
    team = Team(java_copier(java, broker.address, "--group-mode", "--enable-random-aborts"), 2)
    blows = iter([lambda: team.bounce(0, clean=True), lambda: broker.bounce(clean=False)])

    seen = copy(broker, team, partitions, 2, lambda _: next(blows)())

    assert one_of_each(seen, dealt)
