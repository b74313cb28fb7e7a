"""Tell a task that it starts from nothing, and writes nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eosfw.connectors import TransactionContext
from eosfw.ids import ConnectorTaskId
from eosfw.records import SourceOffset, SourcePartition


@dataclass(slots=True)
class FreshTaskContext:
    """The `SourceTaskContext` of a task that is polled for its records alone; `on_notice` hears what it notices."""

    task_id: ConnectorTaskId
    transaction: TransactionContext | None
    on_notice: Callable[[str], None]
    record_offsets: bool = True

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """Nothing was read before."""

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Pass it on."""
        self.on_notice(text)
