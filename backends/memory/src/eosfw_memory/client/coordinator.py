"""Ask the coordinator of a transactional id or of a consumer group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from eosfw.error_table import LOST_COORDINATOR, RETRIABLE, ErrorTable
from eosfw.errors import ClusterUnavailableError, EosfwError
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType
from eosfw_memory.client.transport.apis import Api, Fields
from eosfw_memory.client.transport.channel import NoAnswerError, NotRetriableError
from eosfw_memory.client.transport.errors import error_for, indefinite
from eosfw_memory.common.codes import Code


class CoordinatorRequest(NamedTuple):
    """A request to a coordinator, with what its answers mean."""

    api: Api
    fields: Fields
    errors: ErrorTable
    code_of: Callable[[Any], int] = lambda answer: int(answer["error_code"])
    """Takes the error code out of an answer."""
    unanswered: Callable[[str, EosfwError], EosfwError] = indefinite
    """Makes the error of a request that no coordinator answered in time."""
    repeatable: bool = True
    """Whether it may be sent again when its answer was lost."""


class Coordinator:
    """The coordinator of one transactional id or consumer group, looked up again after it moved."""

    def __init__(self, metadata: ClusterMetadata, key: str, kind: CoordinatorType) -> None:
        self._metadata = metadata
        self._key, self._kind = key, kind
        self._name = repr(key) if kind is CoordinatorType.TRANSACTION else f"group {key!r}"

    def ask(self, request: CoordinatorRequest, timer: RetryTimer) -> Any:
        """The answer of a coordinator that accepted the request; raise why there is none by the deadline."""
        what = f"{request.api.name} of {self._name} at {self._metadata.network.servers}"
        # A coordinator may hear of a new topic later than other brokers. One that is unknown for longer is gone.
        known_by = self._metadata.runtime.now() + self._metadata.network.propagation_timeout
        while True:
            try:
                channel = self._metadata.coordinator(self._key, timer, self._kind)
                answer = channel.call(request.api, request.fields, timer.deadline)
            except ClusterUnavailableError as why:
                # An EndTxn whose answer was lost may have taken effect: repeated, it could end the next transaction.
                if isinstance(why, NoAnswerError) and not request.repeatable:
                    raise indefinite(what, why) from why
                self.forget()
                if isinstance(why, NotRetriableError) or not timer.backoff():
                    raise request.unanswered(what, why) from why
                continue
            code = request.code_of(answer)
            if code == Code.NONE:
                return answer
            if code in LOST_COORDINATOR:
                self.forget()
            gone = code == Code.UNKNOWN_TOPIC_OR_PARTITION and self._metadata.runtime.now() >= known_by
            if code not in RETRIABLE or gone or not timer.backoff():
                raise error_for(code, request.errors, what)

    def forget(self) -> None:
        """Forget who it is, so that the next request looks that up."""
        self._metadata.forget_coordinator(self._key, self._kind)
