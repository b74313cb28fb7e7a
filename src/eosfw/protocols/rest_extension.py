"""The contract of an extension of the REST interface (Kafka Connect's `ConnectRestExtension`, KIP-285)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from eosfw.protocols.herder import ConnectorStateInfo, ServerInfo

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class RestResponse:
    """The answer to a request of the REST interface."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""


class RestCalls(Protocol):
    """The REST interface of this worker, without the way over a socket; it blocks as a `Herder` does."""

    def __call__(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: Mapping[str, str] = _NOTHING,
        *,
        worker: str | None = None,
    ) -> RestResponse:
        """The answer to a request of a client that was authenticated; `target` is the path with its query.

        It is forwarded to another worker where only that one can answer: pass on the client's `authorization`, by
        which that worker admits it. `worker` is the URL of a worker of the group that shall answer in place of this
        one, as for `/metrics`. Errors are answers with their status; 503 if that worker does not answer within 5 s.
        """


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
    rest: RestCalls
    """For extensions that change the group; a page that calls it for a browser has to refuse forged requests."""
    routes: list[Any] = field(default_factory=list)
    """Append routes here, each a `starlette.routing.Route` at a path that the REST interface does not have."""
    middleware: list[Any] = field(default_factory=list)
    """Append each `starlette.middleware.Middleware` here; it sees every request that was authenticated."""


@runtime_checkable
class RestExtension(Protocol):
    """Adds routes and middleware to the REST interface of a worker (Kafka Connect's `ConnectRestExtension`).

    It is made without arguments. One with `config` and `configure` (`Configurable`) is given the worker's
    `rest.extension.classes.NAME.*` first. What it adds lies behind the authentication of the REST interface. One with
    `observe` (`Observer`) hears of every step of this worker.
    """

    name: ClassVar[str]
    """What `rest.extension.classes` says."""

    def register(self, context: RestExtensionContext) -> None:
        """Add routes and middleware; called once, when the worker is ready. What it raises ends the worker."""

    def version(self) -> str:
        """The version, for the log."""

    def close(self) -> None:
        """Let go of what requests need; called when none is answered any more, it may come twice."""
