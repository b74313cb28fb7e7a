"""Put an answer off until what it waits for has happened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol, TypeAlias

Answer: TypeAlias = Mapping[str, object]
"""A response as a tree of mappings by Kafka's field names; what a version of the protocol lacks is left out there."""


class DisconnectClientError(Exception):
    """There will be no answer: the connection is closed. Handlers, attempts of deferred answers raise it."""


class Wakeable(Protocol):
    """Something whose changes can be waited for."""

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call `wake` at each change, on the thread that made it, under the broker's lock; it must only hand over."""

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        """Call it no more."""


class DelayedOperation:
    """An answer to come (a long poll): whoever carries it tries again after each wake, and once more at the timeout.

    `attempt(expired)` runs under the broker's lock like any handler; None means "not yet", never when expired.
    """

    def __init__(
        self, attempt: Callable[[bool], Answer | None], timeout_ms: int, sources: Collection[Wakeable]
    ) -> None:
        self.attempt = attempt
        self.timeout_ms = timeout_ms
        self._sources = sources
        self._wake: Callable[[], None] | None = None

    def then(self, change: Callable[[Answer], Answer]) -> DelayedOperation:
        """The same answer to come, changed on its way out."""

        def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
            answer = self.attempt(expired)
            return None if answer is None else change(answer)

        return DelayedOperation(attempt, self.timeout_ms, self._sources)

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Have `wake` called at each change of what is waited for."""
        self._wake = wake
        for source in self._sources:
            source.subscribe(wake)

    def cancel(self) -> None:
        """Stop waiting, whether or not an answer was given."""
        if self._wake is not None:
            for source in self._sources:
                source.unsubscribe(self._wake)
            self._wake = None
