"""Let code from outside, such as a fault injector, step in at the seams of a broker.

A seam is an attribute that such code may wrap, under the broker's lock; in production nothing does:
- each request: `Broker.interceptor`;
- each write: `Broker.append_records`, `log` and `write_marker` of the transaction coordinator, `log` and
  `transaction_ended` of the group coordinator;
- the clock: `Broker.jump`.

What is wrapped around a write raises `KafkaError` to refuse it, `BrokerStoppedError` to stop the broker.
"""

from __future__ import annotations


class BrokerStoppedError(Exception):
    """The broker stops in the middle of its work; whoever catches this starts it anew (`Broker.restart`)."""

    def __init__(self, down: float) -> None:
        super().__init__("stopped by a fault")
        self.down = down
        """Seconds until it is there again."""
