"""Drive a connector's tasks by hand, without a worker or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eosfw.config import Config
from eosfw.connectors import SourceConnector, SourceTask, TransactionContext
from eosfw.errors import RetriableError
from eosfw.ids import ConnectorTaskId
from eosfw.records import SourceOffset, SourcePartition, SourceRecord
from eosfw.runtime.polled import read_polled, records_of
from eosfw.runtime.preflight import connector_config
from eosfw.waiting import Runtime
from pytest_eos.installed import installed

PATIENCE = 5.0
"""Seconds without a record after which a source that does not tell its end counts as exhausted."""
Offsets = Mapping[str, tuple[SourcePartition, SourceOffset]]


def key_of(partition: SourcePartition) -> str:
    """A text that is equal for equal source partitions."""
    return installed().offset_store().partition_key(partition)


@dataclass(slots=True)
class _Context:
    task_id: ConnectorTaskId
    offsets: Offsets
    transaction: TransactionContext | None = None
    record_offsets: bool = True
    notices: list[str] = field(default_factory=list)

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """What was committed before."""
        found = self.offsets.get(key_of(partition))
        return None if found is None else found[1]

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Take note."""
        self.notices.append(f"{kind}: {text} ({count})")


class Driver:
    """One connector with one set of properties."""

    def __init__(self, connector: SourceConnector, properties: Mapping[str, str], runtime: Runtime) -> None:
        self.connector, self._runtime = connector, runtime
        self._config = connector_config(connector, "contract", properties)

    def shares(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """How the work splits into tasks."""
        return self.connector.task_configs(self._config, max_tasks)

    def records(self, share: Mapping[str, str], offsets: Offsets, most: int) -> list[SourceRecord]:
        """What a fresh task gives from these offsets on, at most so many."""
        task = self.connector.task()
        task_id = ConnectorTaskId("contract", 0)
        try:
            task.start(
                Config(share, share) if task.config is None else task.config.parse(share, "contract"),
                _Context(task_id, offsets),
            )
            found: list[SourceRecord] = []
            for polled in self._polled(task, task_id):
                found += polled
                if len(found) >= most:
                    break
            return found[:most]
        finally:
            task.stop()

    def _polled(self, task: SourceTask, task_id: ConnectorTaskId) -> Iterator[list[SourceRecord]]:
        idle_since = self._runtime.now()
        while True:
            records = _poll(task, task_id)
            if records:
                idle_since = self._runtime.now()
                yield records
            elif task.at_end() or self._runtime.now() - idle_since > PATIENCE:
                return
            else:
                self._runtime.sleep(0.01)


def _poll(task: SourceTask, task_id: ConnectorTaskId) -> list[SourceRecord]:
    try:
        polled = read_polled(task.poll(), task_id)
    except RetriableError:
        return []
    records: list[SourceRecord] = []
    for one in polled:
        records += [one] if isinstance(one, SourceRecord) else records_of(one, task_id)
    return records
