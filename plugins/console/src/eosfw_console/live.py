"""Streams of what changes on a page (server-sent events)."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Final

import anyio

from eosfw_console.shared_looks import Regions, SharedLooks

INTERVAL: Final = 2.0
"""Seconds between two looks, for most pages."""
_MOST: Final = 100
_SLICE: Final = 0.2


class LiveStreams:
    """The streams of all visitors of this worker."""

    def __init__(self) -> None:
        self._open = 0
        self._closed = False
        self._looks = SharedLooks()

    @property
    def is_full(self) -> bool:
        """Whether so many pages listen that another one has to do without."""
        return self._closed or self._open >= _MOST

    def close(self) -> None:
        """End all streams."""
        self._closed = True

    async def _pause_until(self, due: float) -> None:
        for _ in range(math.ceil((due - anyio.current_time()) / _SLICE)):
            if self._closed:
                return
            await anyio.sleep(max(0.0, min(due - anyio.current_time(), _SLICE)))

    async def changes(
        self, key: Hashable, regions: Callable[[], Regions], interval: float = INTERVAL
    ) -> AsyncIterator[bytes]:
        """Events with the HTML of the regions that changed since the last one; the first look sends all.

        Streams of the same key share their looks, so a hundred cost little more than one. While a page cannot be shown,
        its only region is `problem`, which says why.
        """
        self._open += 1
        sent: dict[str, str] = {}
        # The first look is not older than the page that the visitor has loaded.
        not_before = anyio.current_time()
        try:
            while not self._closed:
                look = await self._looks.look(key, regions, not_before)
                found = look.regions or {}
                changed = {name: html for name, html in found.items() if sent.get(name) != html}
                sent |= changed
                # A comment keeps proxies from giving up, and tells the server that a visitor has gone.
                yield f"data: {json.dumps(changed)}\n\n".encode() if changed else b":\n\n"
                await self._pause_until(look.began + interval)
                # Half an interval: streams that opened at other moments share a look from then on, and each one still
                # shows what is at most an interval old.
                not_before = look.began + interval / 2
        finally:
            self._open -= 1
