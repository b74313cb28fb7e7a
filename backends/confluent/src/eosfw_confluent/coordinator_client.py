"""The handle of librdkafka that asks the coordinators of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from confluent_kafka.admin import AdminClient

from eosfw_confluent.errors import ADMIN, translated_errors

_NEVER_REACHED: Final = 600.0
"""Seconds of the timeout of a request, above those that anybody waits for its answer."""
T = TypeVar("T")
A_co = TypeVar("A_co", covariant=True)


class Answer(Protocol[A_co]):
    """A future of librdkafka."""

    def result(self, timeout: float | None = None) -> A_co: ...

    def done(self) -> bool: ...


class CoordinatorClient:
    """Asks coordinators through one handle, and through a new one after a request that was not answered in time.

    librdkafka (2.16) goes on looking for the coordinator of a request of its admin client after the request has reached
    its timeout, and aborts the process once it has found one. So no request gets there: its timeout is longer than
    anybody waits, and the end of its handle ends the search.
    """

    def __init__(self, make_client: Callable[[], AdminClient], timeout: float) -> None:
        self._make_client = make_client
        self._request_timeout = 2 * timeout + _NEVER_REACHED
        self._client: AdminClient | None = None

    @contextmanager
    def ask(
        self, call: Callable[[AdminClient, float], Mapping[str, Answer[T]]], what: str
    ) -> Iterator[Mapping[str, Answer[T]]]:
        """The answers to a request, each of them for one group; after the block nobody may wait for them."""
        if (client := self._client) is None:
            client = self._client = self._make_client()
        with translated_errors(ADMIN, what):
            answers = call(client, self._request_timeout)
            # Only poll() runs the log and error callbacks of this client.
            client.poll(0)
        try:
            yield answers
        finally:
            if self._client is client and not all(one.done() for one in answers.values()):
                self._client = None
            # The last thread that waits for an answer destroys the handle, and no traceback may keep it alive.
            del client

    def close(self) -> None:
        """Destroy the handle."""
        self._client = None
