"""Looks at a page that all who listen to it share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
import anyio.to_thread

Regions = Mapping[str, str]
"""The HTML of the regions of a page, by name."""
_FORGET: Final = 30.0


@dataclass(slots=True)
class Look:
    """What a page showed at a time of the event loop."""

    began: float
    done: anyio.Event = field(default_factory=anyio.Event)
    regions: Regions | None = None
    """None until it is done, and if it failed."""


class SharedLooks:
    """The last look at each page; used on one event loop."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Look] = {}

    async def look(self, key: Hashable, regions: Callable[[], Regions], not_before: float) -> Look:
        """A look that began at `not_before` or later: the one of another listener of the same key, or a new one."""
        while True:
            last = self._last.get(key)
            if last is None or last.began < not_before:
                return await self._new(key, regions)
            await last.done.wait()
            if last.regions is not None:
                return last
            # What the other one met may not be met again.
            not_before = anyio.current_time()

    async def _new(self, key: Hashable, regions: Callable[[], Regions]) -> Look:
        now = anyio.current_time()
        self._last = {other: look for other, look in self._last.items() if now - look.began < _FORGET}
        look = self._last[key] = Look(now)
        try:
            look.regions = await anyio.to_thread.run_sync(regions)
        finally:
            look.done.set()
        return look
