"""Fence transactional ids with one InitProducerId each, as Kafka's `FenceProducersHandler` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from eosfw.error_table import FENCE, LOST_COORDINATOR, RETRIABLE
from eosfw.errors import ClusterUnavailableError, EosfwError, RetriableError
from eosfw.fence_producers_result import FenceProducersResult
from eosfw.ids import ProducerIdAndEpoch
from eosfw.retry_timer import RetryTimer
from eosfw.security import explained
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.transaction_manager import init_producer_id_request
from eosfw_memory.client.transport.apis import INIT_PRODUCER_ID, Fields, milliseconds
from eosfw_memory.client.transport.channel import Channel, ClosedError, NotRetriableError
from eosfw_memory.client.transport.errors import error_for

_TRANSACTION_TIMEOUT: Final = milliseconds(10.0)
"""Stored with the id until its next owner initialises it. No transaction opens before, so any legal value will do."""
_WINDOW: Final = 100
"""Ids of one window: with thousands at once, the state of an id has left the caches before its second attempt."""
_HolderOrError: TypeAlias = ProducerIdAndEpoch | int | EosfwError
"""The result for one id: its producer now, the coordinator's error code, or why there was no answer."""
_Outcomes: TypeAlias = dict[str, _HolderOrError]


class FenceProducersHandler:
    """Fences ids in rounds, so that those whose transactions are still being aborted wait together."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    def fence(self, result: FenceProducersResult, timer: RetryTimer) -> None:
        """Settle the result of every id by the deadline."""
        victims = result.transactional_ids
        outcomes: _Outcomes = {}
        waiting: dict[str, Fields] = {}
        for first in range(0, len(victims), _WINDOW):
            some = {
                each: init_producer_id_request(each, _TRANSACTION_TIMEOUT) for each in victims[first : first + _WINDOW]
            }
            # The first attempt aborts an open transaction, whose markers are mostly written at the second.
            waiting |= self._round(self._round(some, outcomes, timer), outcomes, timer)
            self._settle(some.keys() - waiting.keys(), outcomes, result)
        while waiting and timer.backoff():
            asked, waiting = waiting, self._round(waiting, outcomes, timer)
            self._settle(asked.keys() - waiting.keys(), outcomes, result)
        self._settle(waiting, outcomes, result)

    def _settle(self, victims: Iterable[str], outcomes: _Outcomes, result: FenceProducersResult) -> None:
        for victim in victims:
            result.settle(victim, self._outcome(victim, outcomes[victim]))

    def _round(self, waiting: Mapping[str, Fields], outcomes: _Outcomes, timer: RetryTimer) -> dict[str, Fields]:
        """Try to fence these ids once, and note each in `outcomes`; return those to try again."""
        for channel, victims in self._by_coordinator(waiting, outcomes, timer).items():
            for victim in victims:
                found = _attempt(channel, waiting[victim], timer.deadline)
                outcomes[victim] = _last(outcomes.get(victim), found)
                # Fencing an id twice does no harm, so a lost answer is a reason to try again.
                if _lost_coordinator(found):
                    self._metadata.forget_coordinator(victim)
        return {victim: request for victim, request in waiting.items() if _may_change(outcomes[victim])}

    def _by_coordinator(
        self, waiting: Mapping[str, Fields], outcomes: _Outcomes, timer: RetryTimer
    ) -> Mapping[Channel, list[str]]:
        """The ids of each coordinator; an id without one gets its error in `outcomes`."""
        grouped: dict[Channel, list[str]] = {}
        try:
            self._metadata.look_up_coordinators(tuple(waiting), timer)
        except ClosedError:
            raise
        except EosfwError as why:
            outcomes |= {victim: _last(outcomes.get(victim), why) for victim in waiting}
            return grouped
        for victim in waiting:
            try:
                grouped.setdefault(self._metadata.coordinator(victim, timer), []).append(victim)
            except ClosedError:
                raise
            except EosfwError as why:
                outcomes[victim] = _last(outcomes.get(victim), why)
        return grouped

    def _outcome(self, victim: str, outcome: _HolderOrError) -> ProducerIdAndEpoch | EosfwError:
        if isinstance(outcome, int):
            why = error_for(outcome, FENCE, f"fence {victim!r} at {self._metadata.network.servers}")
            authentication = self._metadata.authentication
            return explained(why, authentication, ("Write", "Describe"), "transactional-id", (victim,))
        if isinstance(outcome, ClusterUnavailableError):
            return type(outcome)(f"fence {victim!r}: {outcome}")
        return outcome


def _attempt(channel: Channel, request: Fields, deadline: float) -> _HolderOrError:
    """The result for one id, or why there was no answer."""
    try:
        answer: Any = channel.call(INIT_PRODUCER_ID, request, deadline)
    except ClusterUnavailableError as why:
        return why
    code: int = answer["error_code"]
    return code or ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])


def _last(before: _HolderOrError | None, now: _HolderOrError) -> _HolderOrError:
    """The result to keep: an error code says more than that the time ran out later."""
    return before if isinstance(before, int) and isinstance(now, RetriableError) else now


def _lost_coordinator(outcome: _HolderOrError) -> bool:
    return outcome in LOST_COORDINATOR if isinstance(outcome, int) else isinstance(outcome, EosfwError)


def _may_change(outcome: _HolderOrError) -> bool:
    if isinstance(outcome, int):
        return outcome in RETRIABLE
    return isinstance(outcome, RetriableError) and not isinstance(outcome, NotRetriableError)
