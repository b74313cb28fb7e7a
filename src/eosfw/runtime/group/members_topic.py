"""The topic through which the workers of a group agree, as this process has read it."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.concurrency import Runtime
from eosfw.protocols import Backend
from eosfw.records import Headers
from eosfw.runtime.storage.kafka_based_log import KafkaBasedLog, LogSource
from eosfw.state.group.assignment import ClusterAssignment
from eosfw.state.group.member_records import MembersLog, WorkerRecord


class MembersTopic(KafkaBasedLog):
    """The newest assignment, and what each worker says of itself; thread-safe."""

    def __init__(self, backend: Backend, source: LogSource, runtime: Runtime) -> None:
        super().__init__(backend, source, runtime)
        self._log = MembersLog()

    def _apply(self, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> str | None:
        return self._log.apply(key, value)

    @property
    def assignment(self) -> ClusterAssignment:
        """The newest assignment, as of the last read."""
        with self._lock:
            return self._log.assignment

    def workers(self) -> Mapping[str, WorkerRecord]:
        """What each worker said last, also those that are gone."""
        with self._lock:
            return dict(self._log.workers)
