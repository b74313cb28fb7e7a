"""Fence transactional ids by taking each of them over for a moment."""

from __future__ import annotations

from collections.abc import Callable

from eosfw.concurrency import Queue, Runtime
from eosfw.errors import (
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    EosfwError,
    FatalError,
    IndefiniteOutcomeError,
)
from eosfw.fence_producers_result import FenceProducersResult
from eosfw.protocols import TransactionalProducer
from eosfw.retry_timer import RetryTimer

_MAX_PARALLEL = 64
"""librdkafka backs off about a second for an id with an open transaction, so that many ids wait in parallel."""
_PAUSE = 0.1

MakeProducer = Callable[[str], TransactionalProducer]


class ProducerTakeover:
    """Fences without `Admin.fenceProducers`, which librdkafka lacks: it initialises a short-lived producer for each id.

    librdkafka does not show the coordinator's answer, so the outcome holds no producer id and epoch.
    """

    def __init__(self, make_producer: MakeProducer, runtime: Runtime) -> None:
        self._make_producer = make_producer
        self._runtime = runtime
        self._closed = False

    def fence(self, result: FenceProducersResult, deadline: float) -> None:
        """Fence every id, 64 at a time."""
        todo: Queue[str] = self._runtime.queue()
        for victim in result.transactional_ids:
            todo.put(victim)
        for number in range(min(_MAX_PARALLEL, len(result.transactional_ids))):
            self._runtime.spawn(f"eosfw-fencer-{number}", lambda: self._work(todo, result, deadline))
        result.outcomes()

    def close(self) -> None:
        """Fail the ids that are not fenced yet."""
        self._closed = True

    def _work(self, todo: Queue[str], result: FenceProducersResult, deadline: float) -> None:
        while True:
            try:
                victim = todo.get(timeout=0)
            except TimeoutError:
                return
            result.settle(victim, self._fence_one(victim, deadline))

    def _fence_one(self, victim: str, deadline: float) -> EosfwError | None:
        try:
            self._refuse_if_closed()
            producer = self._make_producer(victim)
        except EosfwError as why:
            return why
        try:
            self._initialise(producer, deadline)
        except IndefiniteOutcomeError as why:  # fencing twice does no harm, so this is only late
            return ClusterUnavailableError(f"fence {victim!r}: not done in time: {why}")
        except EosfwError as why:
            return why
        except Exception as why:  # noqa: BLE001 - a victim without an outcome would hang the round
            return FatalError(f"cannot fence {victim!r}: {why!r}")
        finally:
            producer.close()
        return None

    def _initialise(self, producer: TransactionalProducer, deadline: float) -> None:
        timer = RetryTimer(self._runtime, deadline, pause=_PAUSE, longest=_PAUSE)
        while True:
            self._refuse_if_closed()
            try:
                producer.init_transactions(timer.remaining())
            except ConcurrentTransactionsError:
                if not timer.backoff():
                    raise
            else:
                return

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise FatalError("the admin client was closed before this id was fenced")
