"""The source that a contract is tested with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eosfw.config.connector import BOUNDARY
from eosfw.connectors import ConnectorTransactionBoundaries, SourceConnector
from eosfw.records import SourceRecord
from eosfw.runtime import connector_config
from pytest_eos.runs.groups.worker_group import as_texts


@dataclass(frozen=True, slots=True)
class Source:
    """A connector with properties with which it has records; `most` bounds an endless source.

    A connector that supports its own transaction boundaries uses them (`transaction.boundary=connector`), unless the
    properties say otherwise; `transaction_ends` then says whether a transaction must end after a record. `grow`
    adds records to the source, for `GrowingSourceContract`.
    """

    connector: type[SourceConnector]
    properties: Mapping[str, object] = field(default_factory=dict)
    most: int = 200
    transaction_ends: Callable[[SourceRecord], bool] | None = None
    grow: Callable[[], None] | None = None

    @property
    def given(self) -> dict[str, object]:
        """The properties, with `transaction.boundary`."""
        given = dict(self.properties)
        if BOUNDARY not in given and self._boundaries() is ConnectorTransactionBoundaries.SUPPORTED:
            given[BOUNDARY] = "connector"
        return given

    @property
    def texts(self) -> dict[str, str]:
        """The properties as texts."""
        return self._named(self.given)

    def _named(self, properties: Mapping[str, object]) -> dict[str, str]:
        given = {"connector.class": self.connector.name, **as_texts(properties)}
        if "topic" in self.connector.config.keys:
            given.setdefault("topic", "contract")
        return given

    def _boundaries(self) -> ConnectorTransactionBoundaries | None:
        connector = self.connector()
        return connector.transaction_boundaries(connector_config(connector, "contract", self._named(self.properties)))
