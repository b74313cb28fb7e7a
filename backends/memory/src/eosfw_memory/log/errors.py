"""Refuse an append or a fetch with the code that Kafka answers."""

from __future__ import annotations

from eosfw_memory.codes import KafkaError


class LogError(KafkaError):
    """A partition refuses; nothing was changed."""
