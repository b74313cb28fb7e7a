"""Fence transactional ids with a bare InitProducerId each, as Kafka's Admin.fenceProducers does (ADM-01)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.errors import ConfigError, EosfwError, FatalError, Problem, RetriableError
from eosfw.protocols import Backend
from eosfw.waiting import Runtime
from eosfw_memory.client.channel import ClosedError
from eosfw_memory.client.retrying import Patience
from eosfw_memory.client.routing import Routes
from eosfw_memory.client.transactions import Coordination

_TRANSACTION_TIMEOUT = 10.0
"""Stored with the id until its next owner initialises; no transaction is opened meanwhile, so any legal value does."""


@runtime_checkable
class Router(Protocol):
    """A backend that can look for coordinators itself."""

    def routes(self, properties: Mapping[str, str]) -> Routes:
        """Routes of their own, for an admin client with these properties."""


class MemoryFencer:
    """A `Fencer` without a producer: all ids go out in rounds, so those that take longer wait together."""

    name: ClassVar[str] = "memory"

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self._runtime = routes.runtime
        self._closed = False

    @classmethod
    def connect(cls, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> Self:
        if not isinstance(backend, Router):
            name = getattr(backend, "name", type(backend).__name__)
            raise ConfigError(Problem("fencer", f"the memory fencer works with the memory backend, not with {name!r}"))
        return cls(backend.routes(properties))

    def fence(self, transactional_ids: Collection[str], timeout: float) -> Mapping[str, EosfwError | None]:
        victims = list(dict.fromkeys(transactional_ids))
        if not victims or not all(victims):
            raise ValueError("nothing to fence: give at least one transactional id, none of them empty")
        if self._closed:
            raise FatalError("this fencer was closed")
        patience = Patience(self._runtime, self._runtime.now() + timeout)
        outcomes: dict[str, EosfwError | None] = {}
        left = victims
        while left:
            outcomes |= {victim: self._attempt(victim, patience) for victim in left}
            left = [victim for victim in left if isinstance(outcomes[victim], RetriableError)]
            if left and not patience.again():
                break
        return {victim: outcomes[victim] for victim in victims}

    def close(self) -> None:
        self._closed = True
        self._routes.network.close()

    def _attempt(self, victim: str, patience: Patience) -> EosfwError | None:
        found = Coordination(self._routes, victim).try_to_shut_out(_TRANSACTION_TIMEOUT, patience)
        if isinstance(found, ClosedError):
            raise found
        return found
