"""Use consumers of either client library alike, as members of a group."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Consumer

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in an old way
    from kafka import ConsumerRebalanceListener, KafkaConsumer
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor

WAIT = 60.0
TIMES = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 100}
ASSIGNORS = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
"""kafka-python's, by the names that all clients give them."""


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT
    for _ in itertools.takewhile(lambda _: time.monotonic() < deadline, itertools.count()):
        if condition():
            return
    pytest.fail("it never came about")


class Confluent:
    """confluent-kafka's consumer; settings by Kafka's names with underscores for the dots."""

    def __init__(self, servers: str, group: str, topic: str, instance: str | None = None, **settings: object) -> None:
        named = {**settings, **({} if instance is None else {"group.instance.id": instance})}
        # Members of consumer groups are told their times by the broker.
        times = {} if settings.get("group_protocol") == "consumer" else TIMES
        self.client = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
                **times,
                **{name.replace("_", "."): value for name, value in named.items()},
            }
        )
        self.seen: list[bytes] = []
        self.revoked: set[int] = set()
        """Every partition it ever had to give back."""
        self.client.subscribe([topic], on_revoke=lambda _, lost: self.revoked.update(one.partition for one in lost))

    def poll(self) -> None:
        message = self.client.poll(0.05)
        if message is not None and not message.error():
            self.seen.append(message.value())

    def partitions(self) -> set[int]:
        return {each.partition for each in self.client.assignment()}

    def commit(self) -> None:
        self.client.commit(asynchronous=False)

    def close(self) -> None:
        self.client.close()


class KafkaPython:
    """kafka-python's; settings by its own names, which are Kafka's with underscores for the dots."""

    def __init__(self, servers: str, group: str, topic: str, instance: str | None = None, **settings: object) -> None:
        if "partition_assignment_strategy" in settings:
            settings["partition_assignment_strategy"] = [ASSIGNORS[str(settings["partition_assignment_strategy"])]]
        if instance is not None:
            settings["group_instance_id"] = instance
        self.client = KafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **({name.replace(".", "_"): value for name, value in TIMES.items()} | settings),
        )
        self.seen: list[bytes] = []
        self.revoked: set[int] = set()
        self.client.subscribe([topic], listener=_Listener(self.revoked))
        # kafka-python joins before it knows the topic, then joins again; a poll that ends within that second join
        # forgets it (3.0.12): no partitions, no heartbeats. Who knows the topic before the first poll joins once.
        assert self.client.partitions_for_topic(topic)

    def poll(self) -> None:
        # It forgets the second half of a join that outlasts its poll, then joins again, which disturbs everybody else.
        for records in self.client.poll(timeout_ms=500).values():
            self.seen += [record.value for record in records]

    def partitions(self) -> set[int]:
        return {each.partition for each in self.client.assignment()}

    def commit(self) -> None:
        self.client.commit()

    def close(self) -> None:
        self.client.close()


class _Listener(ConsumerRebalanceListener):
    """Records the revoked partitions."""

    def __init__(self, revoked: set[int]) -> None:
        self._revoked = revoked

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._revoked.update(one.partition for one in revoked)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Ignored."""


def poll(*ones: Confluent | KafkaPython) -> None:
    """Poll all consumers at the same time, because a join waits for the other members."""
    with ThreadPoolExecutor(len(ones)) as turns:
        for turn in [turns.submit(one.poll) for one in ones]:
            turn.result()


def shared(*ones: Confluent | KafkaPython, partitions: int = 4) -> bool:
    """Whether these consumers together own all partitions after one poll each."""
    poll(*ones)
    every = [one.partitions() for one in ones]
    return all(every) and sum(map(len, every)) == partitions
