"""Make the embedded broker of a test misbehave at a chosen moment."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.errors import ConfigError
from eosfw.test_support import FaultInjection
from pytest_eos.clusters import Cluster


class BrokerFaults:
    """The faults of one test's broker. One that never struck fails the test."""

    def __init__(self, cluster: Cluster, nodeid: str) -> None:
        self._cluster, self._nodeid = cluster, nodeid
        self._made: list[Any] = []

    def add(self, kind: str, **fields: object) -> Any:
        """Have something go wrong: `add("lose", request="EndTxn", nth=2)`; kinds and fields are in the reference.

        The fault tells whether it struck (`fired`, `firings`), waits for that (`await_fired(timeout)`), and lets go of
        what it delays (`release()`). UsageError, with the nearest name, for what does not exist.
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
        self._made.append(made)
        return made

    def complaints(self) -> list[str]:
        """Why faults of this test show nothing."""
        return [f"{fault}. A fault that was asked for must happen." for fault in self._made if not fault.fired]
