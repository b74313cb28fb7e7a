"""Delay an answer until what it waits for has happened; Kafka's `DelayedOperation`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

EXTENSION_MS: Final = 60_000
"""How much longer an answer is waited for that is complete at its timeout, while the disk has not what it acknowledges.
A disk that takes longer is as good as gone; the client tries again."""

Answer: TypeAlias = Mapping[str, object]
"""A response as nested mappings by Kafka's field names, with the fields of all versions of the protocol."""


class DisconnectClientError(Exception):
    """Raised by a handler, or by an attempt of a delayed operation, to close the connection without an answer."""


class Wakeable:
    """Something whose changes complete delayed operations."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[Callable[[], None], None] = {}  # in the order of their coming, as a set is not

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call `wake` at each change, on the thread that made it, under the broker's lock, so it must not block."""
        self._waiting[wake] = None

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        """Stop calling `wake`."""
        self._waiting.pop(wake, None)

    def changed(self) -> None:
        """Wake all that wait for a change."""
        if self._waiting:
            # A copy, since a request that is woken may unsubscribe.
            for wake in tuple(self._waiting):
                wake()


class DelayedOperation:
    """An answer that is not complete yet, for instance to a fetch that waits for records.

    Its owner calls `attempt(expired=False)` after each wake and `attempt(expired=True)` at the timeout, under the
    broker's lock. An attempt returns the answer, or None if it may not be given yet. One that is expired returns None
    at most once: then the timeout comes again EXTENSION_MS later.
    """

    def __init__(
        self, attempt: Callable[[bool], Answer | None], timeout_ms: int, sources: Collection[Wakeable]
    ) -> None:
        self.attempt = attempt
        self.timeout_ms = timeout_ms
        self._sources = sources
        self._wake: Callable[[], None] | None = None

    def then(self, change: Callable[[Answer], Answer]) -> DelayedOperation:
        """An operation with the same condition, whose answer is changed by a function."""

        def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
            answer = self.attempt(expired)
            return None if answer is None else change(answer)

        return DelayedOperation(attempt, self.timeout_ms, self._sources)

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Have `wake` called at each change of the sources."""
        self._wake = wake
        for source in self._sources:
            source.subscribe(wake)

    def cancel(self) -> None:
        """Unsubscribe; needed after an answer, too."""
        if self._wake is not None:
            for source in self._sources:
                source.unsubscribe(self._wake)
            self._wake = None
