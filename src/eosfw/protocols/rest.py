"""The contract of a REST interface of a worker, and of the client with which workers call each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.concurrency import Runtime
from eosfw.config import Config, ConfigDef
from eosfw.protocols.herder import Herder
from eosfw.protocols.rest_extension import RestExtension, RestResponse

__all__ = ["RestServer"]


@runtime_checkable
class RestServer(Protocol):
    """Serves the REST interface of one worker (Kafka Connect's `RestServer` and `RestClient`)."""

    name: ClassVar[str]
    config: ClassVar[ConfigDef]
    """The worker properties that it understands beside those of the framework, such as authentication."""

    @classmethod
    def start(cls, config: Config, runtime: Runtime) -> Self:
        """Open the sockets of `listeners` and return; requests are answered with 503 until `serve` was called."""

    url: str
    """The URL at which other workers reach this one: `rest.advertised.*`, else the first listener."""

    def serve(self, herder: Herder, extensions: Sequence[RestExtension] = ()) -> None:
        """Answer requests with this herder from now on, and with what the extensions register; `close` closes them."""

    def request(self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> RestResponse:
        """Send a request to another worker; RetriableError if it does not answer within `timeout` seconds."""

    def close(self) -> None:
        """Stop serving: no port or thread remains. Requests under way are answered, for a second at most."""
