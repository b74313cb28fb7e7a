"""Ids of partitions, tasks, producers and transactions, in the formats of Kafka and Kafka Connect."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ConnectorTaskId",
    "ProducerIdAndEpoch",
    "TopicPartition",
    "leader_transactional_id",
    "task_transactional_id",
]


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class ConnectorTaskId(NamedTuple):
    """One task of one connector; tasks count from 0."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


class ProducerIdAndEpoch(NamedTuple):
    """A producer id with its epoch, which each initialisation of a transactional id raises by one (KIP-98)."""

    producer_id: int
    epoch: int


def task_transactional_id(group_id: str, task: ConnectorTaskId) -> str:
    """The transactional id of a task's producer, in KIP-618's format."""
    return f"{group_id}-{task.connector}-{task.task}"


def leader_transactional_id(group_id: str) -> str:
    """The transactional id under which a worker group's leader writes to the config topic (KIP-618)."""
    return f"connect-cluster-{group_id}"
