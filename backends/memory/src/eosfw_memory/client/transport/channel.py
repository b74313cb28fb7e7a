"""The transport of this client: a channel to each broker, which carries requests and their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from eosfw.errors import ClusterUnavailableError, FatalError
from eosfw.security import Address
from eosfw_memory.client.transport.apis import Api, Fields
from eosfw_memory.common.delayed_operation import Answer


class NotSentError(ClusterUnavailableError):
    """The request was not sent, so it may be sent again."""


class NoAnswerError(ClusterUnavailableError):
    """The request was sent and not answered, so it may have taken effect."""


class NotRetriableError(ClusterUnavailableError):
    """The same broker would fail in the same way again."""


class MalformedResponseError(NoAnswerError, NotRetriableError):
    """The bytes that came back are no answer of Kafka's protocol."""


class UnsupportedServerError(NotSentError, NotRetriableError):
    """The server does not speak Kafka's protocol, or no version of it that this client speaks."""


class ClosedError(FatalError):
    """The client was closed while a call waited."""


class InFlightRequest(NamedTuple):
    """A request that was sent and whose answer may take long (Kafka's `NetworkClient.InFlightRequest`)."""

    wait: Callable[[float], Answer | None]
    """Gives the answer, or None if it has not come by the deadline; raises NoAnswerError or ClosedError."""
    cancel: Callable[[], None]
    """Gives the answer up before it came; the channel carries other requests again."""


class Channel(Protocol):
    """A channel to one broker. Many threads may `call`, each waits for its turn; `send` is for one thread alone."""

    def send(self, api: Api, request: Fields, deadline: float) -> InFlightRequest:
        """Send a request by the deadline, or raise; the channel carries nothing else until it is answered."""

    def call(self, api: Api, request: Fields, deadline: float) -> Answer:
        """The broker's answer; raise NotSentError, NoAnswerError or ClosedError if there is none by the deadline."""


class Network(Protocol):
    """All channels of one client object; `close` may be called from any thread and ends every call that waits."""

    servers: str
    """The value of `bootstrap.servers`, for messages."""
    eager: bool
    """Whether records are sent at once, since a request costs too little to gain from larger batches."""
    propagation_timeout: float
    """Seconds for which a broker may not know a topic yet that was created at another one."""

    def any(self, deadline: float) -> Channel:
        """A channel to some broker."""

    def at(self, address: Address) -> Channel:
        """The channel to the broker at this address."""

    def close(self) -> None:
        """Close every channel."""
