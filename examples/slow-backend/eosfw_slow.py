"""A backend that wraps another one: whatever it asks of the cluster takes a while longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eosfw import hookimpl
from eosfw.concurrency import Runtime
from eosfw.config.translation import Client
from eosfw.errors import Problem
from eosfw.protocols import IsolationLevel, TransactionHandle
from eosfw_memory.client.backend import MemoryBackend

LATENCY = "slow.latency.ms"
PRODUCES = ("init_transactions", "send", "send_batch", "flush", "commit_transaction", "abort_transaction")
READS = ("read", "partitions", "create_topics", "topic_config", "log_start_offsets", "end_offsets")
ASKS = frozenset((*PRODUCES, *READS))


class Late:
    """Hands every call on; those that ask the cluster pause first."""

    def __init__(self, real: Any, pause: Callable[[], None]) -> None:
        self._real, self._pause = real, pause

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return self._late(found) if name in ASKS else found

    def _late(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def late(*given: Any, **named: Any) -> Any:
            self._pause()
            return call(*given, **named)

        return late


class SlowBackend:
    """Can do what the wrapped one can; `slow.latency.ms` (default 1) says how late it is."""

    name = "slow"
    capabilities = MemoryBackend.capabilities

    def __init__(self, real: MemoryBackend, pause: Callable[[], None]) -> None:
        self.real, self._pause = real, pause

    @classmethod
    def connect(cls, properties: Mapping[str, str], runtime: Runtime) -> SlowBackend:
        others = {name: text for name, text in properties.items() if name != LATENCY}
        latency = float(properties.get(LATENCY, "1")) / 1000
        return cls(MemoryBackend.connect(others, runtime), lambda: runtime.sleep(latency))

    @classmethod
    def problems(cls, properties: Mapping[str, str], client: Client) -> list[Problem]:
        return MemoryBackend.problems(properties, client)

    def producer(self, transactional_id: str | None, **how: Any) -> Any:
        return Late(self.real.producer(transactional_id, **how), self._pause)

    def shared_transaction(self, transactional_id: str, **how: Any) -> Any:
        return Late(self.real.shared_transaction(transactional_id, **how), self._pause)

    def attach(self, handle: TransactionHandle, **how: Any) -> Any:
        return Late(self.real.attach(handle, **how), self._pause)

    def reader(self, isolation: IsolationLevel, **how: Any) -> Any:
        return Late(self.real.reader(isolation, **how), self._pause)

    def admin(self, properties: Mapping[str, str] | None = None) -> Any:
        return Late(self.real.admin(properties), self._pause)

    def group_consumer(self, group_id: str, topic: str, **how: Any) -> Any:
        return Late(self.real.group_consumer(group_id, topic, **how), self._pause)

    def close(self) -> None:
        self.real.close()


@hookimpl
def eosfw_backends() -> list[type[SlowBackend]]:
    return [SlowBackend]
