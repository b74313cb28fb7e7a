"""Which topics hold the source offsets of a connector (KIP-618, per-connector offsets topics)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicOnCluster:
    """A topic by its name and the addresses of its cluster; no addresses stand for the worker's own cluster."""

    name: str
    servers: frozenset[str] = frozenset()


def server_set(text: str | None) -> frozenset[str]:
    """The addresses in a value of `bootstrap.servers`, whatever their order."""
    return frozenset(part.strip().lower() for part in (text or "").split(",") if part.strip())


def same_offsets_topic(connector: TopicOnCluster, worker: TopicOnCluster) -> bool:
    """Whether a connector's offsets topic is surely the worker's (Kafka Connect's `Worker.sameOffsetTopicAsWorker`).

    Two spellings of one cluster's addresses count as two clusters: False may be wrong, True never is.
    """
    return connector.name == worker.name and connector.servers in (frozenset(), worker.servers)


def disagreeing_servers(overrides: Mapping[str, str | None]) -> Collection[str]:
    """The properties that name another cluster than the first one does; None is the worker's own cluster.

    Records, their offsets, the reader of those and the admin client that fences must share a cluster: what is written
    elsewhere is in no transaction with the records.
    """
    (_, first), *others = ((name, server_set(text)) for name, text in overrides.items())
    return [name for name, servers in others if servers != first]
