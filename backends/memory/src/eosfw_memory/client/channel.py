"""Carry one request to one broker, its answer back."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from eosfw.errors import ClusterUnavailableError, FatalError
from eosfw_memory.client.apis import Api, Fields
from eosfw_memory.delayed_operation import Answer


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NotSentError(ClusterUnavailableError):
    """The request never left: it may be made again without a second thought."""


class NoAnswerError(ClusterUnavailableError):
    """The request left and no answer came back: it may have taken effect."""


class NotRetriableError(ClusterUnavailableError):
    """Asking the same broker again would not help."""


class MalformedResponseError(NoAnswerError, NotRetriableError):
    """What came back is no answer of Kafka's protocol."""


class UnsupportedServerError(NotSentError, NotRetriableError):
    """Whoever listens there does not speak Kafka's protocol, or no version that this client speaks."""


class ClosedError(FatalError):
    """The client was closed while a call waited."""


class Channel(Protocol):
    """A way to one broker, used by one thread at a time."""

    def call(self, api: Api, request: Fields, deadline: float) -> Answer:
        """The broker's answer; NotSentError, NoAnswerError or ClosedError when there is none by the deadline."""


class Network(Protocol):
    """Every channel of one client object; `close` may be called from any thread and frees who waits inside."""

    servers: str
    """The addresses the user gave, for messages."""
    eager: bool
    """Whether a request costs so little that nothing is gained by waiting for more to send."""
    propagation_timeout: float
    """Seconds for which a topic may be unknown although it was created, since brokers learn of it one by one."""

    def any(self, deadline: float) -> Channel:
        """A channel to some broker."""

    def at(self, address: Address) -> Channel:
        """The channel to the broker at an address that metadata named."""

    def close(self) -> None:
        """Let go of every channel."""
