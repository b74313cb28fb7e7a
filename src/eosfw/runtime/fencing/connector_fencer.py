"""Fence a connector's earlier producers with the fencer that its properties choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.parts import FENCER, chosen
from eosfw.errors import EosfwError, RetriableError
from eosfw.protocols import Backend
from eosfw.registry import Plugins, parts
from eosfw.runtime.checks.config_transformer import WorkerConfigTransformer
from eosfw.runtime.checks.preflight import framework_config
from eosfw.runtime.fencing.rounds import ROUND_TIMEOUT
from eosfw.state.fencing.failure import may_pass, missing_acls
from eosfw.state.storage.config_log import ConnectorEntry


class ConnectorFencer:
    """Fences under the name of the connector's admin client, as Kafka Connect's `Worker.fenceZombies` does."""

    def __init__(
        self,
        worker: Config,
        backend: Backend,
        plugins: Plugins,
        runtime: Runtime,
        transformer: WorkerConfigTransformer,
    ) -> None:
        self._worker, self._backend, self._plugins, self._runtime = worker, backend, plugins, runtime
        self._transformer = transformer

    def fence(self, entry: ConnectorEntry, transactional_ids: Sequence[str]) -> None:
        """Return once no earlier holder of these ids can commit; raise if any may still."""
        properties = entry.applied_properties or entry.properties or {}
        connector = framework_config(self._transformer.transform(properties).values)
        admin = clients.connector_admin(self._worker, connector).properties
        choice = chosen(FENCER, self._worker, connector)
        # A fencer for each round: it logs in as the connector, whose properties may have changed since the last one.
        fencer = parts.fencer(self._plugins, choice, self._backend, admin, self._runtime)
        try:
            outcomes = fencer.fence(transactional_ids, ROUND_TIMEOUT)
        finally:
            fencer.close()
        if failed := {one: error for one, error in outcomes.items() if error is not None}:
            raise _failure(failed, len(transactional_ids))


def _failure(failed: Mapping[str, EosfwError], asked: int) -> EosfwError:
    """One error for all ids; it may pass only if each of them may."""
    first = next((error for error in failed.values() if not may_pass(error)), next(iter(failed.values())))
    text = f"{len(failed)} of {asked} could not be fenced: {first}"
    if acls := missing_acls(failed):
        text += f". The principal of the connector's admin client needs {acls}"
    failure = RetriableError(text) if may_pass(first) else EosfwError(text)
    failure.__cause__ = first
    return failure
