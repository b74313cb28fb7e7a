"""Changes of properties between their check and their saving."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from eosfw.concurrency import Runtime

MOST: Final = 100
MAX_AGE: Final = 900.0
"""Seconds: long enough to read a preview, short enough for a secret to be in memory."""


@dataclass(frozen=True, slots=True)
class PendingChange:
    """What was checked, and the properties that it starts from."""

    connector: str
    config: Mapping[str, str]
    patch: Mapping[str, str | None]


class PendingChanges:
    """Keeps what was checked on the worker, so that no secret is in the page that previews it; thread-safe."""

    def __init__(self, runtime: Runtime) -> None:
        self._now = runtime.now
        # Guards the dictionary, which is in the order of the times.
        self._lock = runtime.lock()
        self._kept: OrderedDict[str, tuple[float, PendingChange]] = OrderedDict()

    def add(self, change: PendingChange) -> str:
        """Keep a change; return the id under which it is found."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            self._forget_old()
            while len(self._kept) >= MOST:
                self._kept.popitem(last=False)
            self._kept[key] = (self._now(), change)
        return key

    def find(self, key: str, connector: str) -> PendingChange | None:
        """A change of a connector; None if it is no longer kept."""
        with self._lock:
            self._forget_old()
            found = self._kept.get(key)
        return found[1] if found is not None and found[1].connector == connector else None

    def remove(self, key: str) -> None:
        """Forget a change that was saved."""
        with self._lock:
            self._kept.pop(key, None)

    def _forget_old(self) -> None:
        oldest = self._now() - MAX_AGE
        while self._kept and next(iter(self._kept.values()))[0] <= oldest:
            self._kept.popitem(last=False)
