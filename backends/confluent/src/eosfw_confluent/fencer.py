"""Fence transactional ids by taking each of them over for a moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Self

from eosfw.errors import ConcurrentTransactionsError, EosfwError, FatalError
from eosfw.protocols import Backend, TransactionalProducer
from eosfw.waiting import Queue, Runtime

_AT_ONCE = 64
"""Librdkafka backs off about a second per victim whose transaction is open, so many wait side by side."""
_TRANSACTION_TIMEOUT = 10.0
"""Stored with the id until its next owner initialises; no transaction is opened meanwhile, so any legal value does."""
_PAUSE = 0.1


class ConfluentFencer:
    """A `Fencer` for clients without Kafka's Admin.fenceProducers: it initialises a throw-away producer per victim."""

    name: ClassVar[str] = "confluent"

    def __init__(self, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> None:
        self._backend = backend
        self._properties = dict(properties)
        self._runtime = runtime
        self._closed = False

    @classmethod
    def connect(cls, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> Self:
        return cls(backend, properties, runtime)

    def fence(self, transactional_ids: Collection[str], timeout: float) -> Mapping[str, EosfwError | None]:
        victims = list(dict.fromkeys(transactional_ids))
        if not victims or not all(victims):
            raise ValueError("nothing to fence: give at least one transactional id, none of them empty")
        deadline = self._runtime.now() + timeout
        todo: Queue[str] = self._runtime.queue()
        done: Queue[tuple[str, EosfwError | None]] = self._runtime.queue()
        for victim in victims:
            todo.put(victim)
        for number in range(min(_AT_ONCE, len(victims))):
            self._runtime.spawn(f"eosfw-fencer-{number}", lambda: self._work(todo, done, deadline))
        outcomes = dict(done.get() for _ in victims)
        self._refuse_if_closed()
        return {victim: outcomes[victim] for victim in victims}

    def close(self) -> None:
        self._closed = True

    def _work(self, todo: Queue[str], done: Queue[tuple[str, EosfwError | None]], deadline: float) -> None:
        while True:
            try:
                victim = todo.get(timeout=0)
            except TimeoutError:
                return
            done.put((victim, self._fence_one(victim, deadline)))

    def _fence_one(self, victim: str, deadline: float) -> EosfwError | None:
        try:
            self._refuse_if_closed()
            producer = self._backend.producer(
                victim, transaction_timeout=_TRANSACTION_TIMEOUT, properties=self._properties
            )
        except EosfwError as why:
            return why
        try:
            self._initialise(producer, deadline)
        except EosfwError as why:
            return why
        except Exception as why:  # noqa: BLE001 - a victim without an outcome would hang the round
            return FatalError(f"cannot fence {victim!r}: {why!r}")
        finally:
            producer.close()
        return None

    def _initialise(self, producer: TransactionalProducer, deadline: float) -> None:
        while True:
            self._refuse_if_closed()
            try:
                producer.init_transactions(max(0.0, deadline - self._runtime.now()))
            except ConcurrentTransactionsError:
                if self._runtime.now() + _PAUSE >= deadline:
                    raise
                self._runtime.sleep(_PAUSE)
            else:
                return

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise FatalError("this fencer was closed")
