"""Streams of what changes on a page (server-sent events)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

import anyio
import anyio.to_thread

INTERVAL: Final = 2.0
"""Seconds between two looks."""
_MOST: Final = 100
_SLICE: Final = 0.1


class LiveStreams:
    """The streams of all visitors of this worker."""

    def __init__(self) -> None:
        self._open = 0
        self._closed = False

    @property
    def is_full(self) -> bool:
        """Whether so many pages listen that another one has to do without."""
        return self._closed or self._open >= _MOST

    def close(self) -> None:
        """End all streams."""
        self._closed = True

    async def _pause(self) -> None:
        for _ in range(round(INTERVAL / _SLICE)):
            if self._closed:
                return
            await anyio.sleep(_SLICE)

    async def changes(self, regions: Callable[[], Mapping[str, str]]) -> AsyncIterator[bytes]:
        """Events with the HTML of the regions that changed since the last one; the first look sends all.

        Ends when the page has a region that cannot be shown any more: the browser asks again, and is told why.
        """
        self._open += 1
        sent: dict[str, str] = {}
        try:
            while not self._closed:
                found = await anyio.to_thread.run_sync(regions)
                changed = {name: html for name, html in found.items() if sent.get(name) != html}
                sent |= changed
                # A comment keeps proxies from giving up, and tells the server that a visitor has gone.
                yield f"data: {json.dumps(changed)}\n\n".encode() if changed else b":\n\n"
                await self._pause()
        finally:
            self._open -= 1
