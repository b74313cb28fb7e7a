"""Ids of partitions, tasks, producers and transactions, in the formats of Kafka and Kafka Connect."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import NamedTuple
from uuid import UUID

__all__ = [
    "ConnectorTaskId",
    "ProducerIdAndEpoch",
    "TopicPartition",
    "leader_transactional_id",
    "task_transactional_id",
    "uuid_text",
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


def uuid_text(value: UUID | None) -> str:
    """A UUID as Kafka's tools write it (Kafka's `Uuid.toString`); None is the UUID of zeros."""
    return urlsafe_b64encode(value.bytes if value is not None else bytes(16)).decode().rstrip("=")
