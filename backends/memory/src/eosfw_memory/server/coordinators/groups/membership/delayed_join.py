"""Delay the answer to JoinGroup or SyncGroup until the other members have sent theirs."""

from __future__ import annotations

from collections.abc import Callable

from eosfw_memory.common.delayed_operation import Answer, DelayedOperation

_FOREVER_MS = 2**31 - 1
"""The coordinator itself ends every wait: by a rebalance timeout, or when the member is removed."""


class DelayedJoin:
    """The answer to a member that waits. Kafka's `DelayedJoin` and `DelayedSync`; several requests may wait for it."""

    def __init__(self) -> None:
        self._answer: Answer | None = None
        self._waiting: set[Callable[[], None]] = set()

    def complete(self, answer: Answer) -> None:
        """Give the answer; a second one is ignored."""
        if self._answer is None:
            self._answer = answer
            for wake in tuple(self._waiting):
                wake()

    def subscribe(self, wake: Callable[[], None]) -> None:
        self._waiting.add(wake)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        self._waiting.discard(wake)

    def answer_or_delay(self, late: Answer) -> Answer | DelayedOperation:
        """The answer if it was given; otherwise a delayed one, which is `late` if its time runs out."""
        if self._answer is not None:
            return self._answer
        return DelayedOperation(lambda expired: self._answer or (late if expired else None), _FOREVER_MS, (self,))
