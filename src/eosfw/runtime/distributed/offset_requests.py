"""Requests about the offsets of connectors (KIP-875; `DistributedHerder.modifyConnectorOffsets`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from eosfw.config import clients
from eosfw.errors import BadRequestError, RebalanceNeededError
from eosfw.protocols.herder import ConnectorOffset
from eosfw.runtime.connectors.offsets import OffsetServices
from eosfw.runtime.distributed.connector_offsets import (
    OffsetGuard,
    alter_offsets,
    connector_offsets,
    reset_offsets,
)
from eosfw.runtime.distributed.services import REBALANCE_EXPECTED, HerderServices
from eosfw.state.storage.config_records import STOPPED


class OffsetRequests:
    """Shows and changes the offsets of a group's connectors; any thread."""

    def __init__(self, services: HerderServices, offsets: OffsetServices) -> None:
        self._services, self._offsets = services, offsets

    def show(self, name: str) -> Sequence[ConnectorOffset]:
        """The offsets of a connector, whatever its state; any worker may ask."""
        entry = self._services.connector(name)
        return connector_offsets(self._offset_services(), name, entry.properties or {})

    def alter(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        """Change offsets of a stopped connector; only the leader may."""
        self._check(name)
        with self._properties(name) as properties:
            return alter_offsets(self._offset_services(), name, properties, offsets, self._guard(name))

    def reset(self, name: str) -> str:
        """Forget the offsets of a stopped connector; only the leader may."""
        self._check(name)
        with self._properties(name) as properties:
            return reset_offsets(self._offset_services(), name, properties, self._guard(name))

    def _guard(self, name: str) -> OffsetGuard:
        return OffsetGuard(lambda: self._check(name), lambda: self._fence(name))

    def _check(self, name: str) -> None:
        services = self._services
        services.require_no_rebalance()
        services.require_leader("Only the leader can process external offsets modification requests")
        services.topic.read_to_end()
        entry = services.connector(name)
        if entry.target_state != STOPPED or entry.tasks:
            raise BadRequestError(
                f"Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
            )
        if not clients.exactly_once(services.config):
            self._refuse_until_stopped(name)

    def _refuse_until_stopped(self, name: str) -> None:
        """Raise while a task may still commit its offset over the change: without exactly-once nothing fences it."""
        member = self._services.member
        if member.has_tasks_of(name):
            raise RebalanceNeededError(REBALANCE_EXPECTED)

    def _fence(self, name: str) -> None:
        entry, leader = self._services.connector(name), self._services.leader
        if entry.generation is None:  # no connector of this name had tasks, so there are no zombies
            return
        if entry.has_generation(entry.generation):
            leader.fence_zombies(name, entry.generation)
        else:
            leader.fence_deleted_namesake(name)

    @contextmanager
    def _properties(self, name: str) -> Iterator[dict[str, str]]:
        """The properties of a connector, which is given them and may show secrets among them in what it raises."""
        planner, properties = self._services.planner, dict(self._services.connector(name).properties or {})
        with planner.transformer.hidden_secrets():
            planner.remember_secrets(properties)
            yield properties

    def _offset_services(self) -> OffsetServices:
        longest = self._services.planner.facts.max_transaction_timeout
        return replace(self._offsets, max_transaction_timeout=longest)
