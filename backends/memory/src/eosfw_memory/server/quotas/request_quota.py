"""Count what one request costs its client. Kafka's `ClientRequestQuotaManager` with its quotas of bytes."""

from __future__ import annotations

from eosfw_memory.server.quotas.client_quota_entity import Client
from eosfw_memory.server.quotas.client_quota_manager import ClientQuotaManager, QuotaType


class RequestQuota:
    """One request; it is counted once, when it is answered."""

    def __init__(
        self, manager: ClientQuotaManager, client: Client, started: float, produced: int | None = None
    ) -> None:
        """`produced` is the size of a request that brings records."""
        self._manager = manager
        self._client = client
        self._started = started
        self._produced = produced
        self._seconds: float | None = None
        self._throttle_ms: int | None = None

    def stop_clock(self) -> None:
        """Note that the broker is done with the request for now; waiting costs nothing."""
        self._seconds = self._manager.clock() - self._started

    def exempt(self) -> None:
        """Count nothing: the request is one that brokers send each other."""
        self._throttle_ms = 0

    def throttle_ms(self) -> int:
        """How long the client has to wait for the time and the bytes that it used."""
        if self._throttle_ms is None:
            for_bytes = 0 if self._produced is None else self._record(QuotaType.PRODUCE, self._produced)
            self._throttle_ms = max(self._for_time(), for_bytes)
        return self._throttle_ms

    def fetch_throttle_ms(self, size: int) -> int:
        """The same for an answer of so many bytes of records, which is not sent where the client has to wait."""
        if self._throttle_ms is None:
            self._throttle_ms = max(self._for_time(), self._record(QuotaType.FETCH, size))
            if self._throttle_ms:
                self._manager.take_back(QuotaType.FETCH, self._client, size)
        return self._throttle_ms

    def limit_fetch(self, max_bytes: int) -> int:
        """The most bytes of a fetch: one beyond the quota of all windows would never be answered."""
        most = self._manager.most_in_windows(QuotaType.FETCH, self._client)
        return max_bytes if most is None else min(max_bytes, int(most))

    def _for_time(self) -> int:
        seconds = self._manager.clock() - self._started if self._seconds is None else self._seconds
        return self._record(QuotaType.REQUEST, 100 * seconds)

    def _record(self, kind: QuotaType, value: float) -> int:
        return self._manager.record(kind, self._client, value)
