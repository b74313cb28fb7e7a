"""Decide how long a client that used more than its quota has to wait. Kafka's `ClientQuotaManager`."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from eosfw_memory.server.quotas.client_quota_entity import Client, Limit, Quotas, limit_of
from eosfw_memory.server.quotas.rate import Rate, Windows

UNUSED_MS: Final = 3_600_000
"""Rates that nobody used for so long are forgotten, as in Kafka."""
_MAX_KNOWN: Final = 10_000
"""For so many clients it is remembered which quota is theirs; a client can call itself anything."""


class QuotaType(Enum):
    """What a quota is about, by the name of its value."""

    PRODUCE = "producer_byte_rate"
    FETCH = "consumer_byte_rate"
    REQUEST = "request_percentage"


class ClientQuotaManager:
    """The rates of all clients beside their quotas.

    Rates change on the thread of the network alone; the quotas are replaced as a whole, by any thread.
    """

    def __init__(self, windows: Windows, now_ms: Callable[[], int], clock: Callable[[], float]) -> None:
        self._windows = windows
        self._now_ms = now_ms
        self.clock = clock
        """Seconds, to measure how long a request takes."""
        self._quotas: Quotas = {}
        self._known: dict[tuple[QuotaType, Client], Limit | None] = {}
        self._rates: dict[tuple[QuotaType, Client], Rate] = {}
        self.enabled = False
        """Whether anybody has a quota; without one nothing is measured."""

    def update(self, quotas: Quotas) -> None:
        """Let other quotas count from the next request on."""
        self._quotas, self._known = quotas, {}
        self.enabled = bool(quotas)

    def record(self, kind: QuotaType, client: Client, value: float) -> int:
        """Count what a client has used; give the milliseconds that it has to wait."""
        limit = self._limit(kind, client)
        if limit is None:
            return 0
        now_ms, rate = self._now_ms(), self._rate(kind, limit)
        rate.record(value, now_ms)
        per_second, over_ms = rate.measure(now_ms)
        if per_second <= limit.bound:
            return 0
        wait_ms = int((per_second - limit.bound) / limit.bound * over_ms + 0.5)
        return min(wait_ms, self._windows.size_ms) if kind is QuotaType.REQUEST else wait_ms

    def take_back(self, kind: QuotaType, client: Client, value: float) -> None:
        """Count a use no more that did not come about."""
        if (limit := self._limit(kind, client)) is not None:
            self._rate(kind, limit).record(-value, self._now_ms())

    def most_in_windows(self, kind: QuotaType, client: Client) -> float | None:
        """What a client may use at once without having to wait, if it was silent before; None without a quota."""
        limit = self._limit(kind, client)
        return None if limit is None else limit.bound * (self._windows.number - 1) * self._windows.size_ms / 1000

    def forget_unused(self, now_ms: int) -> None:
        """Forget the rates of clients that are gone."""
        self._rates = {key: rate for key, rate in self._rates.items() if not rate.is_unused(now_ms, UNUSED_MS)}

    def on_clock_moved_back(self) -> None:
        """Forget all rates: their times are to come."""
        self._rates = {}

    def _limit(self, kind: QuotaType, client: Client) -> Limit | None:
        known, key = self._known, (kind, client)
        if key not in known:
            if len(known) >= _MAX_KNOWN:
                known.clear()
            known[key] = limit_of(self._quotas, kind.value, client)
        return known[key]

    def _rate(self, kind: QuotaType, limit: Limit) -> Rate:
        key = kind, limit.shared_by
        if key not in self._rates:
            self._rates[key] = Rate(self._windows)
        return self._rates[key]
