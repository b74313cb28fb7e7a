"""Fence transactional ids with a bare InitProducerId each, as Kafka's Admin.fenceProducers does (ADM-01)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

from kafka import errors as kafka_errors
from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer import InitProducerIdRequest

from eosfw.error_table import RETRIABLE
from eosfw.errors import ClusterUnavailableError, EosfwError
from eosfw.fence_producers_result import FenceProducersResult
from eosfw.ids import ProducerIdAndEpoch
from eosfw_kafka_python.errors import FENCE, code_of, ours
from eosfw_kafka_python.routing import Routes

_TRANSACTION_TIMEOUT_MS: Final = 10_000
"""Stored with the id until its next owner initialises; no transaction is opened meanwhile, so any legal value does."""
_NOBODY: Final = -1
_PAUSE, _LONGEST_PAUSE = 0.002, 0.1
_NEWEST: Final = 4
"""Versions from 5 on belong to KIP-890, which this client does not drive."""
_Told: TypeAlias = ProducerIdAndEpoch | Exception
"""What came back for one id: the holder now, or why not, by the library or by us."""


class Fencing:
    """Fences without a producer: all ids go out in rounds, side by side over one connection for each coordinator."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self._runtime = routes.runtime

    def fence(self, result: FenceProducersResult, deadline: float) -> None:
        """Decide every id by the deadline."""
        told: dict[str, _Told] = {}
        waiting: Collection[str] = result.transactional_ids
        pause = _PAUSE
        while waiting:
            asked, waiting = waiting, self._round(waiting, told, deadline)
            if self._runtime.now() + pause >= deadline:
                waiting = ()
            for victim in asked:
                if victim not in waiting:
                    result.settle(victim, self._outcome(victim, told[victim]))
            if waiting:
                self._runtime.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)

    def _round(self, waiting: Collection[str], told: dict[str, _Told], deadline: float) -> Collection[str]:
        """One attempt to shut holders out, noted in `told`; gives those for whom there is reason for another."""
        for node, victims in self._by_coordinator(waiting, told, deadline).items():
            requests = {victim: _initialise(victim) for victim in victims}
            for victim, answer in self._routes.connection.ask_each(requests, deadline, node).items():
                told[victim] = _last(told.get(victim), answer if isinstance(answer, Exception) else _told(answer))
        # Shutting out twice does no harm, so a lost answer is no reason to give up.
        return {victim: None for victim in waiting if _may_change(told[victim])}.keys()

    def _by_coordinator(
        self, waiting: Collection[str], told: dict[str, _Told], deadline: float
    ) -> Mapping[str, list[str]]:
        """Who is to be asked about whom; `told` gets why where nobody is found."""
        grouped: dict[str, list[str]] = {}
        try:
            found = self._routes.coordinators(waiting, CoordinatorType.TRANSACTION, deadline)
        except (ClusterUnavailableError, kafka_errors.KafkaError) as why:
            told |= {victim: _last(told.get(victim), why) for victim in waiting}
            return grouped
        for victim, coordinator in found.items():
            if isinstance(coordinator, kafka_errors.KafkaError):
                told[victim] = _last(told.get(victim), coordinator)
            else:
                grouped.setdefault(coordinator, []).append(victim)
        return grouped

    def _outcome(self, victim: str, told: _Told) -> ProducerIdAndEpoch | EosfwError:
        if isinstance(told, ClusterUnavailableError):
            return ClusterUnavailableError(f"fence {victim!r}: {told}")
        if isinstance(told, (ProducerIdAndEpoch, EosfwError)):
            return told
        return ours(told, FENCE, f"fence {victim!r} at {self._routes.connection.servers}")


def _initialise(victim: str) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=victim,
        transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
        producer_id=_NOBODY,
        producer_epoch=_NOBODY,
        max_version=_NEWEST,
    )


def _told(answer: Any) -> _Told:
    if answer.error_code:
        refused: Exception = kafka_errors.for_code(answer.error_code)()
        return refused
    return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)


def _last(before: _Told | None, now: _Told) -> _Told:
    """What there is to tell: that the time ran out says less than the code that was waited with until then."""
    unanswered = isinstance(now, (ClusterUnavailableError, kafka_errors.RetriableError)) and code_of(now) is None
    if unanswered and isinstance(before, Exception) and code_of(before) is not None:
        return before
    return now


def _may_change(told: _Told) -> bool:
    if isinstance(told, ProducerIdAndEpoch):
        return False
    return isinstance(told, (ClusterUnavailableError, kafka_errors.RetriableError)) or code_of(told) in RETRIABLE
