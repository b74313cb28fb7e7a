"""Inject faults into the embedded broker of a test."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.errors import ConfigError
from eosfw.test_support import FaultInjection
from pytest_eos.environment.clusters.cluster import Cluster


class BrokerFaults:
    """The faults of one test's broker. A fault that never happened fails the test."""

    def __init__(self, cluster: Cluster, nodeid: str) -> None:
        self._cluster, self._nodeid = cluster, nodeid
        self.made: list[Any] = []
        """The faults that were added."""

    def add(self, kind: str, **fields: object) -> Any:
        """Inject a fault: `add("lose", request="EndTxn", nth=2)`; kinds and fields are in the reference.

        The fault knows whether it happened (`fired`, `firings`), waits until it has (`await_fired(timeout)`), and
        releases what it delays (`release()`). UsageError names the nearest kind or field for one that does not exist.
        """
        local: object = self._cluster.local
        if not isinstance(local, FaultInjection):
            raise pytest.UsageError(
                f"{self._nodeid}: faults need an embedded broker that the test itself serves: leave out "
                f"--eos-bootstrap-servers={self._cluster.bootstrap_servers}"
            )
        try:
            made = local.faults.add(kind, **fields)
        except ConfigError as wrong:
            raise pytest.UsageError(f"{self._nodeid}: {wrong}") from None
        self.made.append(made)
        return made

    def complaints(self) -> list[str]:
        """A message for each fault that never happened."""
        return [f"{fault}. A fault that was asked for must happen." for fault in self.made if not fault.fired]
