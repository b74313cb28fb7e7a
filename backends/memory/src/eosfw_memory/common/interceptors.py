"""The seams of a broker: where code from outside, such as a fault injector, may intercept its work.

A seam is an attribute that such code wraps, holding the broker's lock. In production nothing wraps them:
- each request: `Broker.interceptor`;
- each write: `Broker.append_records`, `log` and `write_marker` of the transaction coordinator, `log` and
  `transaction_ended` of the group coordinator;
- the clock: `Broker.jump`.

An interceptor of writes raises `KafkaError` to refuse one, or `BrokerStoppedError` to stop the broker.
"""

from __future__ import annotations


class BrokerStoppedError(Exception):
    """An interceptor stops the broker in the middle of its work; the caller that catches this restarts it.

    One that was halted stays as it is.
    """

    def __init__(self, down: float) -> None:
        super().__init__("stopped by a fault")
        self.down = down
        """Seconds for which the broker serves nobody."""
