"""Fence transactional ids with a bare InitProducerId each, as Kafka's Admin.fenceProducers does (ADM-01)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from eosfw.error_table import FENCE, LOST_COORDINATOR, RETRIABLE
from eosfw.errors import ClusterUnavailableError, EosfwError, RetriableError
from eosfw.fence_producers_result import FenceProducersResult
from eosfw.ids import ProducerIdAndEpoch
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.apis import INIT_PRODUCER_ID, Fields, milliseconds
from eosfw_memory.client.channel import Channel, ClosedError, NotRetriableError
from eosfw_memory.client.errors import error_for
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.transaction_manager import init_producer_id_request
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer

_TRANSACTION_TIMEOUT: Final = milliseconds(10.0)
"""Stored with the id until its next owner initialises; no transaction is opened meanwhile, so any legal value does."""
_WINDOW: Final = 100
"""Ids that are looked at together: among thousands, what one attempt touched is out of reach when the next comes."""
_NONE: Final = Code.NONE
_Told: TypeAlias = ProducerIdAndEpoch | int | EosfwError
"""What came back for one id: the holder now, a code of the coordinator's that names why not, or why neither came."""


class FenceProducersHandler:
    """Fences without a producer: all ids go out in rounds, so those that take longer wait together."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    def fence(self, result: FenceProducersResult, timer: RetryTimer) -> None:
        """Decide every id by the deadline."""
        victims = result.transactional_ids
        told: dict[str, _Told] = {}
        waiting: dict[str, Fields] = {}
        for first in range(0, len(victims), _WINDOW):
            some = {
                each: init_producer_id_request(each, _TRANSACTION_TIMEOUT) for each in victims[first : first + _WINDOW]
            }
            # Whose open transaction is aborted by the first attempt is mostly done with the second.
            waiting |= self._round(self._round(some, told, timer), told, timer)
            self._settle(some.keys() - waiting.keys(), told, result)
        while waiting and timer.backoff():
            asked, waiting = waiting, self._round(waiting, told, timer)
            self._settle(asked.keys() - waiting.keys(), told, result)
        self._settle(waiting, told, result)

    def _settle(self, victims: Iterable[str], told: Mapping[str, _Told], result: FenceProducersResult) -> None:
        for victim in victims:
            result.settle(victim, self._outcome(victim, told[victim]))

    def _round(self, waiting: Mapping[str, Fields], told: dict[str, _Told], timer: RetryTimer) -> dict[str, Fields]:
        """One attempt to shut holders out, noted in `told`; give those for whom there is reason for another."""
        for channel, victims in self._by_coordinator(waiting, told, timer).items():
            for victim in victims:
                answer = _response(channel, waiting[victim], timer.deadline)
                found = _told(answer)
                told[victim] = _last(told.get(victim), found)
                # Shutting out twice does no harm, so a lost answer is no reason to give up.
                if _lost_coordinator(found):
                    self._metadata.forget_coordinator(victim)
        return {victim: request for victim, request in waiting.items() if _may_change(told[victim])}

    def _by_coordinator(
        self, waiting: Mapping[str, Fields], told: dict[str, _Told], timer: RetryTimer
    ) -> Mapping[Channel, list[str]]:
        """Who is to be asked about whom; `told` gets why where nobody is found."""
        grouped: dict[Channel, list[str]] = {}
        try:
            self._metadata.look_up_coordinators(tuple(waiting), timer)
        except ClosedError:
            raise
        except EosfwError as why:
            told |= {victim: _last(told.get(victim), why) for victim in waiting}
            return grouped
        for victim in waiting:
            try:
                grouped.setdefault(self._metadata.coordinator(victim, timer), []).append(victim)
            except ClosedError:
                raise
            except EosfwError as why:
                told[victim] = _last(told.get(victim), why)
        return grouped

    def _outcome(self, victim: str, told: _Told) -> ProducerIdAndEpoch | EosfwError:
        if isinstance(told, int):
            return error_for(told, FENCE, f"fence {victim!r} at {self._metadata.network.servers}")
        if isinstance(told, ClusterUnavailableError):
            return type(told)(f"fence {victim!r}: {told}")
        return told


def _response(channel: Channel, request: Fields, deadline: float) -> Answer | ClusterUnavailableError:
    """The answer, or why there is none."""
    try:
        return channel.call(INIT_PRODUCER_ID, request, deadline)
    except ClusterUnavailableError as why:
        return why


def _told(answer: Answer | EosfwError) -> _Told:
    if isinstance(answer, EosfwError):
        return answer
    code: int = answer["error_code"]  # type: ignore[assignment]
    return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"]) if code == _NONE else code  # type: ignore[arg-type]


def _last(before: _Told | None, now: _Told) -> _Told:
    """What there is to tell: that the time ran out says less than the code that was waited with until then."""
    return before if isinstance(before, int) and isinstance(now, RetriableError) else now


def _lost_coordinator(told: _Told) -> bool:
    return told in LOST_COORDINATOR if isinstance(told, int) else isinstance(told, EosfwError)


def _may_change(told: _Told) -> bool:
    if isinstance(told, int):
        return told in RETRIABLE
    return isinstance(told, RetriableError) and not isinstance(told, NotRetriableError)
