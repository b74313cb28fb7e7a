"""What the config topic asks of every worker of a group, once: restarts, and levels of loggers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosfw.state.storage.restart_request import RestartRequest


@dataclass(frozen=True, slots=True)
class LoggerLevelRequest:
    """The level that a logger, and those below it, shall have in every worker (KIP-976)."""

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
        self._levels: dict[str, tuple[int, str]] = {}

    def add(self, offset: int, request: RestartRequest | LoggerLevelRequest) -> None:
        """Add the request of one record."""
        if isinstance(request, RestartRequest):
            self._restarts[request] = offset
        else:
            self._levels[request.namespace] = (offset, request.level)

    def since(self, position: int) -> GroupRequests:
        """What was asked at that offset or later."""
        strongest: dict[str, RestartRequest] = {}
        for request, offset in self._restarts.items():
            known = strongest.get(request.connector)
            if offset >= position and (known is None or request.impact > known.impact):
                strongest[request.connector] = request
        levels = {name: level for name, (offset, level) in self._levels.items() if offset >= position}
        return GroupRequests(tuple(strongest.values()), levels)
