"""Consume-transform-produce leaves one committed copy of each record, whoever is killed (KIP-98's test plan)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from .copying import MESSAGES, Team, confluent_copier, copied, fill, points, wait_until
from .reading import LiveReader
from .serving import ServedBroker

BLOWS = 6


@pytest.fixture
def broker(tmp_path) -> Iterator[ServedBroker]:
    with ServedBroker(tmp_path / "broker") as served:
        yield served


@pytest.fixture
def topics(broker):
    """Creates the topic that is copied, and the one for its copy."""
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})

    def create(partitions: int) -> tuple[str, str]:
        for done in admin.create_topics([NewTopic(name, partitions, 1) for name in ("input", "output")]).values():
            done.result(30)
        return "input", "output"

    return create


@pytest.mark.timeout(240)
@pytest.mark.parametrize("partitions", [1, 3], ids=["ordered", "unordered"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "hard"])
@pytest.mark.parametrize("who", ["clients", "broker"])
def test_each_record_is_copied_once_whoever_ends(broker, topics, tmp_path, partitions, clean, who):
    """One partition keeps its order; several lose and repeat nothing; live and at the end."""
    source, target = topics(partitions)
    dealt = fill(broker.address, source, partitions, MESSAGES)
    chance = random.Random(f"{partitions} {clean} {who}")
    start = confluent_copier(broker.address, source, target, tmp_path / "copiers")

    with LiveReader(broker.address, target, partitions) as reader, Team(start, partitions) as team:
        for point in points(chance.randrange(1 << 30), BLOWS, MESSAGES):
            wait_until(reader, team, point)
            if who == "clients":
                team.bounce(chance.randrange(partitions), clean=clean)
            else:
                broker.bounce(clean=clean)
        wait_until(reader, team, MESSAGES)
        seen = copied(reader, broker.address, target, partitions)

    if partitions == 1:
        assert seen.live == seen.final == dealt
    else:
        assert merged(seen.live) == merged(seen.final) == merged(dealt)


def merged(partitions: list[list[bytes]]) -> list[bytes]:
    return sorted(itertools.chain.from_iterable(partitions))
