"""What librdkafka refuses without asking a broker says which right is missing."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import TopicAuthorizationError
from eosfw.records import ProducerBatch
from eosfw_confluent.backend import ConfluentBackend

BOB = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "bob",
    "sasl.password": "any",
}
MISSING = r"User:bob needs Write on the topic 'denied': kafka-acls\.sh"
DENIED = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)


class Refusing:
    """A librdkafka producer that has heard that its topic is denied."""

    def list_topics(self, topic: str, timeout: float) -> object:
        return SimpleNamespace(orig_broker_id=1)

    def produce(self, *_: object) -> None:
        raise KafkaException(DENIED)

    def produce_batch(self, topic: str, messages: list[dict[str, object]], partition: int) -> int:
        for message in messages:
            message["_error"] = DENIED
        return 0

    def poll(self, timeout: float) -> int:
        return 0


@pytest.mark.parametrize("values", [[b"v"], [b"v", b"w"]], ids=["one", "many"])
def test_a_send_that_is_refused_at_once_says_which_right_is_missing(values: list[bytes]) -> None:
    """SEC-14: it depends on when an answer comes whether the send or the commit is refused."""
    with closing(ConfluentBackend.connect(BOB, ThreadRuntime())) as backend:
        producer = backend.producer(None)
        producer._client = Refusing()  # type: ignore[attr-defined]

        with pytest.raises(TopicAuthorizationError, match=MISSING):
            producer.send_batch(ProducerBatch("denied", values, partition=0))
