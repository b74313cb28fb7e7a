"""Kill copiers while they copy a topic, then compare the copy with the input.

After KIP-98's test plan, as Apache Kafka's own system test of transactions does it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from confluent_kafka import Producer

from .java import Java, Program
from .reading import LiveReader, read_all

WITHIN = 60.0
MESSAGES = 100_000
PER_TRANSACTION = 750
SOURCE, TARGET = "input", "output"


def fill(servers: str, partitions: int) -> list[list[bytes]]:
    """Numbered records, dealt out to the partitions in turn."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 20, "log_level": 0})
    dealt: list[list[bytes]] = [[] for _ in range(partitions)]
    for number in range(MESSAGES):
        value = b"%d" % number
        dealt[number % partitions].append(value)
        producer.produce(SOURCE, value, key=value, partition=number % partitions)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(WITHIN) == 0
    return dealt


class Team:
    """Copiers of one group; one that ended by itself, or was killed, is started again."""

    def __init__(self, start: Callable[[int], Program], members: int) -> None:
        self._start = start
        self._members = [start(number) for number in range(members)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for member in self._members:
            member.kill()

    def bounce(self, number: int, *, clean: bool) -> None:
        member = self._members[number]
        member.end() if clean else member.kill()
        self._restart(number)

    def revive(self) -> None:
        """Restart copiers that ended: fenced ones, or ones with an unknown transaction outcome."""
        for number, member in enumerate(self._members):
            if member.failed():
                self._restart(number)

    def _restart(self, number: int) -> None:
        self._members[number] = self._start(number)

    def output(self) -> str:
        return "\n".join(f"{member.log.name}: {member.output()[-2000:]}" for member in self._members)


@dataclass(frozen=True, slots=True)
class Copied:
    """What readers at read_committed saw: one that was there all the time, one that came at the end."""

    live: list[list[bytes]]
    final: list[list[bytes]]


def points(chance: random.Random, count: int) -> Sequence[int]:
    """The number of copied records before each kill."""
    return sorted(chance.sample(range(MESSAGES // 20, MESSAGES * 3 // 4), count))


def wait_until(reader: LiveReader, team: Team, count: int) -> None:
    """Wait for records, keeping the team alive."""
    deadline = time.monotonic() + WITHIN
    while not reader.wait_for(count, 0.2):
        team.revive()
        assert time.monotonic() < deadline, f"{reader.count} of {count} records in {WITHIN:g} s; {team.output()}"


def python_copier(servers: str, folder: Path, pause: float) -> Callable[[int], Program]:
    """How to start a member of a group of the copiers of confluent-kafka."""
    program = Path(__file__).with_name("confluent_copier.py")

    def start(number: int) -> Program:
        names = ("--input", SOURCE, "--output", TARGET, "--group", "copiers", "--transactional-id", f"copier-{number}")
        size = ("--size", str(PER_TRANSACTION), "--pause", str(pause))
        command = [sys.executable, str(program), "--servers", servers, *names, *size]
        return Program(command, folder / f"copier-{number}.log")

    return start


def java_copier(java: Java, servers: str, *mode: str) -> Callable[[int], Program]:
    """How to start Kafka's own copier, for the partition of its number unless in a group (`--group-mode`).

    It asks for its offsets before it shuts out its predecessor, so it waits until that one's transaction times out.
    """

    def start(number: int) -> Program:
        topics = ("--input-topic", SOURCE, "--input-partition", number, "--output-topic", TARGET)
        names = ("--consumer-group", "copiers", "--transactional-id", f"copier-{number}", "--broker-list", servers)
        size = ("--transaction-size", PER_TRANSACTION, "--transaction-timeout", 5_000)
        return java.start("transactional-message-copier", *topics, *names, *size, "--use-group-metadata", *mode)

    return start


def copied(reader: LiveReader, servers: str, partitions: int) -> Copied:
    return Copied(reader.values, read_all(servers, TARGET, partitions))
