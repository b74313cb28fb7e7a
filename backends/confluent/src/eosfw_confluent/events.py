"""Keep what librdkafka says beside its answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, Message

from eosfw_confluent import codes

LOG = logging.getLogger("eosfw_confluent.librdkafka")
# Without a handler Python would print the library's warnings on stderr, which fencing causes by design.
LOG.addHandler(logging.NullHandler())
# Whatever matters of it is raised by a call, or retried: where warnings are shown, users would read both.
LOG.addFilter(lambda _: LOG.isEnabledFor(logging.INFO))


class ClientEvents:
    """The errors of one client that no call returned; made by any thread, read by any."""

    def __init__(self) -> None:
        self.undelivered: KafkaError | None = None
        self.last: KafkaError | None = None

    def on_error(self, error: KafkaError) -> None:
        """Hear of a failing connection, or of a fatal state."""
        self.last = error

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        """Hear of a record that was not delivered; purging follows from another error, which says more."""
        purged = error is not None and error.code() in (codes.PURGED_IN_QUEUE, codes.PURGED_IN_FLIGHT)
        if error is not None and self.undelivered is None and not purged:
            self.undelivered = error

    def clear_undelivered(self) -> None:
        """Start a new transaction."""
        self.undelivered = None

    def client_config(self) -> Mapping[str, Any]:
        """What a client is told so that its errors and its log come here."""
        return {"error_cb": self.on_error, "logger": LOG}

    @property
    def hint(self) -> str:
        """The last thing that went wrong beside the calls, as the tail of a message."""
        return f" (last seen: {self.last.str()})" if self.last is not None else ""
