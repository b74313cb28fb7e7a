"""Refuse a request with an error code of Kafka's protocol."""

from __future__ import annotations

from eosfw.kafka_codes import Code

__all__ = ["Code", "KafkaError"]


class KafkaError(Exception):
    """Kafka's error for a request or a part of one, by its code. Kafka's `ApiException`."""

    def __init__(self, code: Code, message: str | None = None) -> None:
        super().__init__(message or code._name_)
        self.code = code
        self.message = message
