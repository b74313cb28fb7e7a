"""A member of a consumer group, over any transport (Kafka's `ClassicKafkaConsumer` with `subscribe`, no fetches)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from eosfw.error_table import GROUP, LOST_COORDINATOR
from eosfw.errors import (
    ClusterUnavailableError,
    CommitFailedError,
    EosfwError,
    IllegalStateError,
    RebalanceInProgressError,
    UnknownTopicOrPartitionError,
)
from eosfw.protocols import GroupAssignment
from eosfw.retry_timer import RetryTimer
from eosfw.security import FirstAuthentication, needs
from eosfw_memory.client.consumer.consumer_coordinator import (
    PASSING,
    ConsumerCoordinator,
    GroupRebalanceConfig,
    MemberState,
)
from eosfw_memory.client.coordinator import Coordinator, CoordinatorRequest
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType
from eosfw_memory.client.transport.apis import LEAVE_GROUP, OFFSET_COMMIT, Api
from eosfw_memory.client.transport.channel import ClosedError, InFlightRequest, NotRetriableError
from eosfw_memory.client.transport.errors import error_for, unavailable
from eosfw_memory.common.codes import Code

_LOOK_UP = 1.0
"""Seconds that a poll may take beyond its timeout to find the coordinator, or to connect to it."""


class _Sent(NamedTuple):
    api: Api
    request: InFlightRequest
    expires: float


class MemoryGroupConsumer:
    """A `GroupConsumer` that speaks Kafka's protocol itself; it has no thread, so its heartbeats are sent by `poll`."""

    def __init__(self, settings: GroupRebalanceConfig, metadata: ClusterMetadata) -> None:
        self._settings = settings
        self._metadata = metadata
        self._runtime = metadata.runtime
        self._member = ConsumerCoordinator(settings)
        self._group = Coordinator(metadata, settings.group_id, CoordinatorType.GROUP)
        self._sent: _Sent | None = None
        self._returned = GroupAssignment()
        self._closing = self._runtime.event()
        self._is_called = False

    @property
    def authentication(self) -> FirstAuthentication:
        return self._metadata.authentication

    @property
    def group_id(self) -> str:
        """The group that it is a member of."""
        return self._settings.group_id

    @property
    def topic(self) -> str:
        """The topic that the members share."""
        return self._settings.topic

    @needs("topic", "Describe", names="topic")
    @needs("group", "Read", names="group_id")
    def poll(self, timeout: float) -> GroupAssignment:
        with self._call():
            deadline = self._runtime.now() + timeout
            while not self._is_news(self._member.assignment):
                progressed = self._step(deadline)
                if not progressed and self._runtime.now() >= deadline:
                    break
            self._returned = self._member.assignment
            return self._returned

    @needs("topic", "Read", names="topic")
    @needs("group", "Read", names="group_id")
    def confirm(self, timeout: float) -> None:
        with self._call():
            deadline = self._runtime.now() + timeout
            if self._sent is not None and self._member.state is MemberState.STABLE and not self._receive(deadline):
                raise ClusterUnavailableError(f"{self._what('Heartbeat')}: no answer; is the cluster running?")
            self._refuse_unless_member()
            self._commit(RetryTimer(self._runtime, deadline))

    def close(self, timeout: float = 5.0) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        if not self._is_called:  # else another thread closes: the session of this member ends by its timeout
            with suppress(EosfwError):
                self._leave(RetryTimer(self._runtime, self._runtime.now() + timeout))
        self._metadata.network.close()

    # --- taking part

    def _is_news(self, found: GroupAssignment) -> bool:
        """Whether the member owns something else, or a rebalance is over."""
        return found.partitions != self._returned.partitions or (not found.rebalancing and found != self._returned)

    def _step(self, deadline: float) -> bool:
        """Send a request or receive an answer; False if there was nothing to do by the deadline."""
        if self._sent is not None:
            return self._receive(deadline)
        now = self._runtime.now()
        if now >= self._member.due_at:
            self._send(max(deadline, now + _LOOK_UP))
            return True
        self._closing.wait(max(0.0, min(deadline, self._member.due_at) - now))
        self._refuse_closed()
        return False

    def _send(self, deadline: float) -> None:
        """Send the request that is due; where that fails, it is due again after a pause."""
        timer = RetryTimer(self._runtime, deadline)
        try:
            if topics := self._member.topics_to_assign():
                self._member.assign({topic: self._partitions(topic, timer) for topic in topics})
            channel = self._metadata.coordinator(self._settings.group_id, timer, CoordinatorType.GROUP)
            request = self._member.next_request()
            sent = channel.send(request.api, request.fields, deadline)
            self._sent = _Sent(request.api, sent, self._runtime.now() + request.timeout)
        except ClusterUnavailableError as why:
            self._lost(why)

    def _receive(self, deadline: float) -> bool:
        """Take the answer of the request that was sent; False if it has not come by the deadline."""
        assert self._sent is not None
        api, request, expires = self._sent
        try:
            answer: Any = request.wait(min(deadline, expires))
        except ClusterUnavailableError as why:
            self._lost(why)
            return True
        if answer is not None:
            self._take(api, answer)
        elif self._runtime.now() >= expires:
            # The channel carries nothing else until then, and a late answer must not be taken for another one's.
            request.cancel()
            self._lost(ClusterUnavailableError(f"{self._what(api.name)}: no answer"))
        else:
            return False
        return True

    def _take(self, api: Api, answer: Any) -> None:
        self._sent = None
        code = self._member.on_answer(api, answer, self._runtime.now())
        if code in LOST_COORDINATOR:
            self._group.forget()
        if code not in PASSING and code != Code.NONE:
            raise error_for(code, GROUP, self._what(api.name))

    def _lost(self, why: ClusterUnavailableError) -> None:
        self._sent = None
        self._group.forget()
        self._member.on_no_answer(self._runtime.now())
        if isinstance(why, NotRetriableError):
            raise why

    def _partitions(self, topic: str, timer: RetryTimer) -> int:
        """How many partitions a topic has; another member may have subscribed to one that does not exist."""
        try:
            return self._metadata.partitions(topic, timer)
        except UnknownTopicOrPartitionError:
            if topic == self._settings.topic:
                raise
            return 0

    # --- confirming and leaving

    def _refuse_unless_member(self) -> None:
        if self._member.assignment.generation < 0:
            raise CommitFailedError(f"{self._what('OffsetCommit')}: this client is no member now; poll to join")
        if self._member.state is not MemberState.STABLE:
            raise RebalanceInProgressError(f"{self._what('OffsetCommit')}: a rebalance is under way; poll to join it")

    def _commit(self, timer: RetryTimer) -> None:
        fields = self._member.commit_request()
        try:
            self._group.ask(CoordinatorRequest(OFFSET_COMMIT, fields, GROUP, _committed, unavailable), timer)
        except CommitFailedError:
            self._member.on_lost(self._runtime.now())
            raise
        except RebalanceInProgressError:
            self._member.rejoin(self._runtime.now())
            raise

    def _leave(self, timer: RetryTimer) -> None:
        if self._sent is not None:
            self._sent.request.cancel()
        fields = self._member.leave_request()
        if fields is not None:
            self._group.ask(CoordinatorRequest(LEAVE_GROUP, fields, GROUP, unanswered=unavailable), timer)

    # --- inside

    @contextmanager
    def _call(self) -> Iterator[None]:
        self._refuse_closed()
        self._is_called = True
        try:
            yield
        except ClosedError as why:
            raise IllegalStateError(f"this group consumer was closed while it waited: {why}") from why
        finally:
            self._is_called = False

    def _refuse_closed(self) -> None:
        if self._closing.is_set():
            raise IllegalStateError("this group consumer is closed")

    def _what(self, what: str) -> str:
        return f"{what} of group {self._settings.group_id!r} at {self._metadata.network.servers}"


def _committed(answer: Any) -> int:
    return int(answer["topics"][0]["partitions"][0]["error_code"])
