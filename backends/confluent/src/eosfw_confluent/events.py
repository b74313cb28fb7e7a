"""What librdkafka knows of its connections: errors that it reports by callback, whether a broker has answered."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from eosfw_confluent import codes

LOG = logging.getLogger("eosfw_confluent.librdkafka")
# Without a handler Python prints warnings on stderr, and librdkafka warns whenever a producer is fenced.
LOG.addHandler(logging.NullHandler())
# Every error that matters is raised by a call or retried; a log at WARNING would show it a second time.
LOG.addFilter(lambda _: LOG.isEnabledFor(logging.INFO))


class ClientEvents:
    """The errors of one client that no call raised; written and read by any thread."""

    def __init__(self) -> None:
        self.undelivered: KafkaError | None = None
        self.undelivered_topic: str | None = None
        self.last: KafkaError | None = None

    def on_error(self, error: KafkaError) -> None:
        """Note a failed connection or a fatal state; librdkafka's `error_cb`."""
        self.last = error

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        """Note the first record that was not delivered; a purged record follows from the error that purged it."""
        purged = error is not None and error.code() in (codes.PURGED_IN_QUEUE, codes.PURGED_IN_FLIGHT)
        if error is not None and self.undelivered is None and not purged:
            self.undelivered, self.undelivered_topic = error, message.topic()

    def clear_undelivered(self) -> None:
        """Drop the error of a transaction that is over."""
        self.undelivered = self.undelivered_topic = None

    def client_config(self) -> Mapping[str, Any]:
        """The client properties that direct errors and log lines here."""
        return {"error_cb": self.on_error, "logger": LOG}

    @property
    def hint(self) -> str:
        """The last error that no call raised, as the end of a message."""
        return f" (last seen: {self.last.str()})" if self.last is not None else ""


def broker_answered(client: Producer | Consumer) -> bool:
    """Whether a broker has ever answered this client: librdkafka knows the cluster id only then."""
    try:
        return bool(client.cluster_id(timeout=0.01))
    except KafkaException:
        return False
