"""The task of the connector, which polls its API."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import SourceTask
from eosfw.errors import RetriableError
from eosfw_http.api import Api
from eosfw_http.properties import CONNECTOR
from eosfw_http.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceBatch


class HttpSourceTask(SourceTask):
    """Polls page after page; an API without new records is left alone for `poll.interval.ms`."""

    config: ClassVar[ConfigDef | None] = CONNECTOR

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._api: Api | None = None

    def start(self, config: Config, context: SourceTaskContext) -> None:
        # The API is asked by polls alone, which are repeated while it does not answer.
        self._api = Api(config, self._clock)
        self._reader = Reader(self._api, config, context)
        self._pause: float = config["poll.interval.ms"] / 1000
        self._interval: float = config["request.interval.ms"] / 1000
        self._shortest: float = config["retry.backoff.ms"] / 1000
        self._longest: float = config["retry.backoff.max.ms"] / 1000
        self._backoff = self._shortest
        self._due = float("-inf")
        """When to ask again."""
        self._rests = False

    def poll(self) -> SourceBatch | None:
        if self._clock() < self._due:
            return None
        self._rests = False
        try:
            batch = self._reader.take()
        except RetriableError as error:
            wait, self._backoff = self._backoff, min(2 * self._backoff, self._longest)
            # What the API says counts, however long it is, unless it is no time at all.
            raise RetriableError(*error.args, retry_after=error.retry_after or wait) from None
        self._backoff = self._shortest
        self._rests = self._reader.rests
        self._due = self._clock() + (max(self._pause, self._interval) if self._rests else self._interval)
        return batch

    def at_end(self) -> bool:
        return self._rests

    def stop(self) -> None:
        if self._api is not None:
            self._api.close()
