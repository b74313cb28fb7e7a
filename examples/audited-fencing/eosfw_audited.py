"""A fencer that tells an audit topic whom it fenced, before anybody goes on.

    fencer = "audited"
    "fencer.topic" = "fencing-audit"

Each id becomes a JSON record under the id's key: what happened to it, when, by which process. Once fencing is told it
is done: a record that cannot be written fails the round, which is then run again.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Self

from eosfw import Config, ConfigDef, String, hookimpl
from eosfw.builtin.fencer import AdminFencer
from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, TopicExistsError
from eosfw.protocols import Backend, NewTopic
from eosfw.records import ProducerRecord


class AuditedFencer:
    """Fences as the backend's own admin client does, then writes one record for each id."""

    name = "audited"
    config = ConfigDef(String("topic", "eosfw-fencing-audit", "where the records go; it is made unless it exists"))

    def __init__(self, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> None:
        self._backend, self._runtime = backend, runtime
        self._fencer = AdminFencer.connect(backend, properties, runtime)
        self._topic = self.config.parse({})["topic"]

    @classmethod
    def connect(cls, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> Self:
        return cls(backend, properties, runtime)

    def configure(self, config: Config) -> None:
        self._topic = config["topic"]

    def fence(self, transactional_ids: Collection[str], timeout: float) -> Mapping[str, EosfwError | None]:
        deadline = self._runtime.now() + timeout
        outcomes = self._fencer.fence(transactional_ids, timeout)
        self._ensure_topic()
        self._tell(outcomes, max(1.0, deadline - self._runtime.now()))
        return outcomes

    def close(self) -> None:
        self._fencer.close()

    def _tell(self, outcomes: Mapping[str, EosfwError | None], timeout: float) -> None:
        with closing(self._backend.producer(None)) as producer:
            for transactional_id, error in outcomes.items():
                producer.send(
                    ProducerRecord(self._topic, self._record(transactional_id, error), transactional_id.encode())
                )
            producer.flush(timeout)

    def _record(self, transactional_id: str, error: EosfwError | None) -> bytes:
        told = {
            "transactional.id": transactional_id,
            "outcome": "fenced" if error is None else str(error),
            "time": round(self._runtime.wall() * 1000),
            "by": f"{socket.gethostname()}-{os.getpid()}",
        }
        return json.dumps(told).encode()

    def _ensure_topic(self) -> None:
        with closing(self._backend.admin()) as admin:
            if self._topic in admin.partitions([self._topic]):
                return
            try:
                admin.create_topics([NewTopic(self._topic)])
            except TopicExistsError:
                return


@hookimpl
def eosfw_fencers() -> list[type[AuditedFencer]]:
    return [AuditedFencer]
