"""A member of a consumer group through kafka-python, for membership alone."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kafka import errors as kafka_errors

from eosfw.concurrency import FairLock
from eosfw.errors import (
    ClusterUnavailableError,
    CommitFailedError,
    EosfwError,
    IllegalStateError,
    UnknownTopicOrPartitionError,
)
from eosfw.protocols import GroupAssignment
from eosfw.security import FirstAuthentication, needs
from eosfw_kafka_python.connection import Connection, close_client
from eosfw_kafka_python.errors import GROUP, code_of, translated_errors
from eosfw_kafka_python.group_coordinator import GroupCoordinator

_LOOK_UP = 2.0
"""Seconds that the first poll may take beyond its timeout to reach the cluster."""
_SLICE = 0.05
"""Seconds of one wait: what the library's own thread finds out is noticed between two waits."""


class KafkaPythonGroupConsumer:
    """A `GroupConsumer` over one `KafkaConsumer`, whose own thread sends the heartbeats; the first poll makes it.

    Only the library's coordinator is polled, so nothing is fetched.
    """

    def __init__(self, group_id: str, topic: str, connection: Connection) -> None:
        self._group_id = group_id
        self._topic = topic
        self._connection = connection
        self._runtime = connection.runtime
        self._coordinator: GroupCoordinator | None = None
        self._returned = GroupAssignment()
        self._busy = FairLock(self._runtime)
        self._closing = self._runtime.event()

    @property
    def authentication(self) -> FirstAuthentication:
        return self._connection.authentication

    @property
    def topic(self) -> str:
        """The topic that the members share."""
        return self._topic

    @property
    def group_id(self) -> str:
        """The group."""
        return self._group_id

    @needs("topic", "Describe", names="topic")
    @needs("group", "Read", names="group_id")
    def poll(self, timeout: float) -> GroupAssignment:
        with self._call("join"):
            deadline = self._runtime.now() + timeout
            found = GroupAssignment()
            while not self._is_news(found := self._step(deadline)) and self._runtime.now() < deadline:
                self._closing.wait(max(0.0, min(_SLICE, deadline - self._runtime.now())))
            self._returned = found
            return found

    @needs("topic", "Read", names="topic")
    @needs("group", "Read", names="group_id")
    def confirm(self, timeout: float) -> None:
        with self._call("confirm"):
            if self._coordinator is None or not self._returned.member_id:
                raise CommitFailedError(f"{self._what('confirm')}: this client is no member now; poll to join")
            try:
                self._coordinator.commit(self._topic, timeout)
            except kafka_errors.CommitFailedError as why:
                if code_of(why) is None:  # the library knows by itself that it is no member
                    raise CommitFailedError(f"{self._what('confirm')}: {why}") from why
                raise

    def close(self, timeout: float = 5.0) -> None:
        if self._closing.is_set():
            return
        self._closing.set()  # a poll on another thread ends at its next slice
        deadline = self._runtime.now() + timeout
        with self._busy.held(deadline) as held:
            coordinator, self._coordinator = self._coordinator, None
            if held and coordinator is not None:
                with suppress(EosfwError), translated_errors(GROUP, self._what("leave")):
                    coordinator.leave(max(0.0, deadline - self._runtime.now()))
        self._connection.close()

    # --- inside

    def _is_news(self, found: GroupAssignment) -> bool:
        """Whether the member owns something else, or a rebalance is over."""
        return found.partitions != self._returned.partitions or (not found.rebalancing and found != self._returned)

    def _step(self, deadline: float) -> GroupAssignment:
        """Let the library take part in the group for a moment; an unreachable cluster is looked for again next time."""
        if self._closing.is_set():
            raise IllegalStateError("this group consumer was closed while it waited")
        try:
            with translated_errors(GROUP, self._what("join")):
                coordinator = self._made(deadline)
                if self._topic_is_known(coordinator, deadline):
                    coordinator.poll(max(0.0, min(_SLICE, deadline - self._runtime.now())))
        except ClusterUnavailableError:
            pass
        return GroupAssignment() if self._coordinator is None else self._coordinator.assignment()

    def _topic_is_known(self, coordinator: GroupCoordinator, deadline: float) -> bool:
        """Whether the topic is known: who joins before that joins again at once, which disturbs every member."""
        if coordinator.knows(self._topic):
            return True
        # The first answer may be to a request from before the subscription, which was under way: it shows no topic.
        for _ in range(2):
            if not coordinator.update_metadata(max(0.0, deadline - self._runtime.now())):
                return False
            if coordinator.knows(self._topic):
                return True
        raise UnknownTopicOrPartitionError(f"{self._what('join')}: there is no topic {self._topic!r}")

    def _made(self, deadline: float) -> GroupCoordinator:
        if self._coordinator is None:
            consumer = self._connection.consumer(max(deadline, self._runtime.now() + _LOOK_UP))
            self._coordinator = GroupCoordinator(consumer, self._topic)
            weakref.finalize(self, close_client, consumer._client).atexit = False  # noqa: SLF001
        return self._coordinator

    @contextmanager
    def _call(self, what: str) -> Iterator[None]:
        if self._closing.is_set():
            raise IllegalStateError("this group consumer is closed")
        with self._busy.held(float("inf")), translated_errors(GROUP, self._what(what)):
            yield

    def _what(self, what: str) -> str:
        return f"{what} group {self._group_id!r} at {self._connection.servers}"
