"""Where the source offsets of a connector are."""

from __future__ import annotations

from dataclasses import dataclass

from eosfw.protocols import IsolationLevel, NewTopic


@dataclass(frozen=True, slots=True)
class OffsetTopics:
    """Where the source offsets of a connector are (what Kafka Connect's `ConnectorOffsetBackingStore` is made with)."""

    topic: NewTopic
    """The topic that tasks write to, on the cluster of their producers."""
    isolation: IsolationLevel
    """How it is read."""
    setting: str
    """The property that asks for that, for messages."""
    own: bool
    """Whether it is not the worker's topic, to which its offsets are copied then."""
