"""Fence transactional ids by InitProducerId requests; Kafka's `FenceProducersHandler` (ADM-01)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

from kafka import errors as kafka_errors
from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer import InitProducerIdRequest

from eosfw.error_table import RETRIABLE
from eosfw.errors import ClusterUnavailableError, EosfwError
from eosfw.fence_producers_result import FenceProducersResult
from eosfw.ids import ProducerIdAndEpoch
from eosfw.retry_timer import RetryTimer
from eosfw.security import explained
from eosfw_kafka_python.broker_lookup import BrokerLookup
from eosfw_kafka_python.errors import FENCE, code_of, eosfw_error

_TRANSACTION_TIMEOUT_MS: Final = 10_000
"""Any legal value: it is stored with the id until the next owner initialises, and no transaction opens before."""
_NOBODY: Final = -1
_PAUSE = 0.002
_NEWEST: Final = 4
"""Versions from 5 on belong to KIP-890, which this client does not drive."""
_HolderOrError: TypeAlias = ProducerIdAndEpoch | Exception
"""The outcome for one id: its new holder, or an error of the library or of eosfw."""


class FenceProducersHandler:
    """Fences without a producer: each round asks for all ids in parallel, over one connection for each coordinator."""

    def __init__(self, brokers: BrokerLookup) -> None:
        self._brokers = brokers
        self._runtime = brokers.runtime

    def fence(self, result: FenceProducersResult, deadline: float) -> None:
        """Set the outcome of every id by the deadline."""
        outcomes: dict[str, _HolderOrError] = {}
        timer = RetryTimer(self._runtime, deadline, pause=_PAUSE)
        waiting: Collection[str] = result.transactional_ids
        while waiting:
            # Outcomes are told as they come: who fences many ids may go on with those that are fenced.
            asked, waiting = waiting, self._round(waiting, outcomes, deadline)
            self._settle([victim for victim in asked if victim not in waiting], outcomes, result)
            if waiting and not timer.backoff():
                self._settle(waiting, outcomes, result)
                return

    def _settle(
        self, victims: Iterable[str], outcomes: Mapping[str, _HolderOrError], result: FenceProducersResult
    ) -> None:
        for victim in victims:
            result.settle(victim, self._outcome(victim, outcomes[victim]))

    def _round(self, waiting: Collection[str], outcomes: dict[str, _HolderOrError], deadline: float) -> Collection[str]:
        """Try once to fence the ids and store each outcome; return the ids that are worth another try."""
        for node, victims in self._by_coordinator(waiting, outcomes, deadline).items():
            requests = {victim: _initialise(victim) for victim in victims}
            for victim, answer in self._brokers.connection.send_each(requests, deadline, node).items():
                outcomes[victim] = _last(
                    outcomes.get(victim), answer if isinstance(answer, Exception) else _holder_or_error(answer)
                )
        # Fencing an id twice does no harm, so an id is tried again after a lost answer.
        return {victim: None for victim in waiting if _may_change(outcomes[victim])}.keys()

    def _by_coordinator(
        self, waiting: Collection[str], outcomes: dict[str, _HolderOrError], deadline: float
    ) -> Mapping[str, list[str]]:
        """The ids by coordinator; the error of an id without coordinator goes to `outcomes`."""
        grouped: dict[str, list[str]] = {}
        try:
            found = self._brokers.coordinators(waiting, CoordinatorType.TRANSACTION, deadline)
        except (ClusterUnavailableError, kafka_errors.KafkaError) as why:
            outcomes |= {victim: _last(outcomes.get(victim), why) for victim in waiting}
            return grouped
        for victim, coordinator in found.items():
            if isinstance(coordinator, kafka_errors.KafkaError):
                outcomes[victim] = _last(outcomes.get(victim), coordinator)
            else:
                grouped.setdefault(coordinator, []).append(victim)
        return grouped

    def _outcome(self, victim: str, outcome: _HolderOrError) -> ProducerIdAndEpoch | EosfwError:
        if isinstance(outcome, ClusterUnavailableError):
            return ClusterUnavailableError(f"fence {victim!r}: {outcome}")
        if isinstance(outcome, (ProducerIdAndEpoch, EosfwError)):
            return outcome
        connection = self._brokers.connection
        found = eosfw_error(outcome, FENCE, f"fence {victim!r} at {connection.servers}")
        return explained(found, connection.authentication, ("Write", "Describe"), "transactional-id", (victim,))


def _initialise(victim: str) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=victim,
        transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
        producer_id=_NOBODY,
        producer_epoch=_NOBODY,
        max_version=_NEWEST,
    )


def _holder_or_error(answer: Any) -> _HolderOrError:
    if answer.error_code:
        refused: Exception = kafka_errors.for_code(answer.error_code)()
        return refused
    return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)


def _last(before: _HolderOrError | None, now: _HolderOrError) -> _HolderOrError:
    """The outcome to report: a timeout does not replace the error code that was retried until then."""
    # kafka-python gives the code REQUEST_TIMED_OUT to a request that it stopped waiting for by itself.
    unanswered = isinstance(now, (ClusterUnavailableError, kafka_errors.RetriableError)) and (
        code_of(now) is None or isinstance(now, kafka_errors.RequestTimedOutError)
    )
    if unanswered and isinstance(before, Exception) and code_of(before) is not None:
        return before
    return now


def _may_change(outcome: _HolderOrError) -> bool:
    if isinstance(outcome, ProducerIdAndEpoch):
        return False
    return isinstance(outcome, (ClusterUnavailableError, kafka_errors.RetriableError)) or code_of(outcome) in RETRIABLE
