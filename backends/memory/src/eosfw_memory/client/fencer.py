"""Fence transactional ids with a bare InitProducerId each, as Kafka's Admin.fenceProducers does (ADM-01)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Final, Protocol, Self, TypeAlias, runtime_checkable

from eosfw.errors import ClusterUnavailableError, ConfigError, EosfwError, FatalError, Problem, RetriableError
from eosfw.protocols import Backend
from eosfw.waiting import Runtime
from eosfw_memory.client.apis import INIT_PRODUCER_ID, Fields, milliseconds
from eosfw_memory.client.channel import Channel, ClosedError
from eosfw_memory.client.errors import INIT, LOST_COORDINATOR, RETRIABLE, ours
from eosfw_memory.client.retrying import Patience
from eosfw_memory.client.routing import Routes
from eosfw_memory.client.transactions import initialise_request
from eosfw_memory.codes import Code

_TRANSACTION_TIMEOUT: Final = milliseconds(10.0)
"""Stored with the id until its next owner initialises; no transaction is opened meanwhile, so any legal value does."""
_WINDOW: Final = 100
"""Ids that are looked at together: among thousands, what one attempt touched is out of reach when the next comes."""
_Told: TypeAlias = int | EosfwError
"""What came back for one id: a code of the coordinator's, or why there is none."""


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
        told: dict[str, _Told] = {}
        waiting: dict[str, Fields] = {}
        for first in range(0, len(victims), _WINDOW):
            some = {each: initialise_request(each, _TRANSACTION_TIMEOUT) for each in victims[first : first + _WINDOW]}
            # Whose open transaction is aborted by the first attempt is mostly done with the second.
            waiting |= self._round(self._round(some, told, patience), told, patience)
        while waiting and patience.again():
            waiting = self._round(waiting, told, patience)
        return {victim: self._outcome(victim, told[victim]) for victim in victims}

    def close(self) -> None:
        self._closed = True
        self._routes.network.close()

    def _round(self, waiting: Mapping[str, Fields], told: dict[str, _Told], patience: Patience) -> dict[str, Fields]:
        """One attempt to shut holders out, noted in `told`; give those for whom there is reason for another."""
        for channel, victims in self._by_coordinator(waiting, told, patience).items():
            requests = [waiting[victim] for victim in victims]
            answers = channel.call_each(INIT_PRODUCER_ID, requests, patience.deadline)
            for victim, answer in zip(victims, answers, strict=True):
                found = answer if isinstance(answer, EosfwError) else answer["error_code"]
                told[victim] = found  # type: ignore[assignment]
                # Shutting out twice does no harm, so a lost answer is no reason to give up.
                if found in LOST_COORDINATOR or isinstance(found, EosfwError):
                    self._routes.forget_coordinator(victim)
        return {victim: request for victim, request in waiting.items() if _may_change(told[victim])}

    def _by_coordinator(
        self, waiting: Mapping[str, Fields], told: dict[str, _Told], patience: Patience
    ) -> Mapping[Channel, list[str]]:
        """Who is to be asked about whom; `told` gets why where nobody is found."""
        grouped: dict[Channel, list[str]] = {}
        try:
            self._routes.look_up_coordinators(tuple(waiting), patience)
        except ClosedError:
            raise
        except EosfwError as why:
            told |= dict.fromkeys(waiting, why)
            return grouped
        for victim in waiting:
            try:
                grouped.setdefault(self._routes.coordinator(victim, patience), []).append(victim)
            except ClosedError:
                raise
            except EosfwError as why:
                told[victim] = why
        return grouped

    def _outcome(self, victim: str, told: _Told) -> EosfwError | None:
        if isinstance(told, EosfwError):
            return told
        if told == Code.NONE:
            return None
        what = f"{INIT_PRODUCER_ID.name} of {victim!r} at {self._routes.network.servers}"
        why = ours(told, INIT, what)
        return ClusterUnavailableError(f"{what}: the coordinator is busy: {why}") if told in RETRIABLE else why


def _may_change(told: _Told) -> bool:
    return isinstance(told, RetriableError) if isinstance(told, EosfwError) else told in RETRIABLE
