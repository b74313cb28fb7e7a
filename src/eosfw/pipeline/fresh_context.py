"""The context of a task that is polled without committed offsets, and whose records are written nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eosfw.connectors import TransactionContext
from eosfw.ids import ConnectorTaskId
from eosfw.records import SourceOffset, SourcePartition


@dataclass(slots=True)
class FreshTaskContext:
    """The `SourceTaskContext` of such a task; its notices are passed to `on_notice`."""

    task_id: ConnectorTaskId
    transaction: TransactionContext | None
    on_notice: Callable[[str], None]
    record_offsets: bool = True

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """None: nothing was committed before."""

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Pass the text of a notice on."""
        self.on_notice(text)
