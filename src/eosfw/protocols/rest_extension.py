"""The contract of an extension of the REST interface (Kafka Connect's `ConnectRestExtension`, KIP-285)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from eosfw.protocols.herder import ConnectorStateInfo, ServerInfo


class ConnectClusterState(Protocol):
    """What an extension may know of the worker group; it can change nothing (Kafka Connect's `ConnectClusterState`).

    Calls may block, as those of a `Herder` do: make them in a `def` endpoint, never in an `async def` one.
    """

    def connectors(self) -> Sequence[str]:
        """The names of all connectors of the group."""

    def connector_health(self, name: str) -> ConnectorStateInfo:
        """The state of a connector and of its tasks; NotFoundError if there is none of that name."""

    def connector_config(self, name: str) -> Mapping[str, str]:
        """The properties of a connector as they are stored: references to config providers stay references."""

    def cluster_details(self) -> ServerInfo:
        """The version of this worker and the id of its Kafka cluster."""


@dataclass(frozen=True, slots=True)
class RestExtensionContext:
    """What an extension registers with (Kafka Connect's `ConnectRestExtensionContext`)."""

    cluster_state: ConnectClusterState
    routes: list[Any] = field(default_factory=list)
    """Append routes here, each a `starlette.routing.Route` at a path that the REST interface does not have."""
    middleware: list[Any] = field(default_factory=list)
    """Append each `starlette.middleware.Middleware` here; it sees every request that was authenticated."""


@runtime_checkable
class RestExtension(Protocol):
    """Adds routes and middleware to the REST interface of a worker (Kafka Connect's `ConnectRestExtension`).

    It is made without arguments. One with `config` and `configure` (`Configurable`) is given the worker's
    `rest.extension.classes.NAME.*` first. What it adds lies behind the authentication of the REST interface.
    """

    name: ClassVar[str]
    """What `rest.extension.classes` says."""

    def register(self, context: RestExtensionContext) -> None:
        """Add routes and middleware; called once, when the worker is ready. What it raises ends the worker."""

    def version(self) -> str:
        """The version, for the log."""

    def close(self) -> None:
        """Let go of what requests need; called when none is answered any more, it may come twice."""
