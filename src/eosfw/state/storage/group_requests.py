"""What the config topic asks of every worker of a group, once: restarts (KIP-745), and levels of loggers (KIP-976)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

_K = TypeVar("_K")

_FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """What to restart of one connector (Kafka Connect's class of that name)."""

    connector: str
    only_failed: bool = False
    """Whether only what is FAILED is restarted."""
    include_tasks: bool = False
    """Whether tasks are restarted beside the connector itself."""

    def restarts_connector(self, state: str) -> bool:
        """Whether it restarts a connector that is in this state."""
        return not self.only_failed or state == _FAILED

    def restarts_task(self, state: str) -> bool:
        """Whether it restarts a task that is in this state."""
        return self.include_tasks and self.restarts_connector(state)

    @property
    def impact(self) -> int:
        """How much it restarts, compared with other requests for the same connector."""
        return 2 * (not self.only_failed) + self.include_tasks


@dataclass(frozen=True, slots=True)
class LoggerLevelRequest:
    """The level that a logger, and those below it, shall have in every worker."""

    namespace: str
    level: str


@dataclass(frozen=True, slots=True)
class GroupRequests:
    """What was asked since some offset."""

    restarts: tuple[RestartRequest, ...] = ()
    """One for each connector: the one that restarts most, as Kafka Connect decides."""
    logger_levels: Mapping[str, str] = field(default_factory=dict)


class RequestLog:
    """The newest offset of each different request; not thread-safe."""

    def __init__(self) -> None:
        self._restarts: dict[RestartRequest, int] = {}
        self._levels: dict[str, int] = {}
        self._level_of: dict[str, str] = {}

    def add(self, offset: int, request: RestartRequest | LoggerLevelRequest) -> None:
        """Add the request of one record."""
        # To the end of its dictionary: `since` is asked again and again, and looks no further than what is new.
        if isinstance(request, RestartRequest):
            self._restarts.pop(request, None)
            self._restarts[request] = offset
        else:
            self._levels.pop(request.namespace, None)
            self._levels[request.namespace] = offset
            self._level_of[request.namespace] = request.level

    def since(self, position: int) -> GroupRequests:
        """What was asked at that offset or later."""
        strongest: dict[str, RestartRequest] = {}
        for request in _newer(self._restarts, position):
            known = strongest.get(request.connector)
            if known is None or request.impact > known.impact:
                strongest[request.connector] = request
        levels = {name: self._level_of[name] for name in _newer(self._levels, position)}
        return GroupRequests(tuple(strongest.values()), levels)


def _newer(offsets: dict[_K, int], position: int) -> list[_K]:
    """The keys at that offset or later, which are the last ones, in their order."""
    found = [key for key, _ in takewhile(lambda one: one[1] >= position, reversed(offsets.items()))]
    return found[::-1]
