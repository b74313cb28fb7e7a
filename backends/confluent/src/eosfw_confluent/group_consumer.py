"""A member of a consumer group through librdkafka, for membership alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaPartition

from eosfw.concurrency import FairLock, Runtime
from eosfw.errors import (
    ClusterUnavailableError,
    CommitFailedError,
    EosfwError,
    IllegalStateError,
    InconsistentGroupProtocolError,
    RebalanceInProgressError,
)
from eosfw.ids import TopicPartition
from eosfw.kafka_codes import MEANINGS, Code
from eosfw.protocols import GroupAssignment
from eosfw.security import FirstAuthentication, needs
from eosfw_confluent import codes
from eosfw_confluent.conversion import generation_of
from eosfw_confluent.deadline_call import DeadlineCall
from eosfw_confluent.errors import GROUP, eosfw_error, translated_errors
from eosfw_confluent.events import ClientEvents

_SLICE = 0.05
"""Seconds of one poll of librdkafka, which does not return when a rebalance is over or a commit was answered."""
_SHORTEST = 0.001
"""Seconds of the first such poll for an answer, which mostly comes within a millisecond or two."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The group of one member, the cluster that serves it, and the first authentication."""

    servers: str
    group_id: str
    topic: str
    authentication: FirstAuthentication


class ConfluentGroupConsumer:
    """A `GroupConsumer` over one librdkafka consumer, whose own threads send the heartbeats.

    Its partitions are paused as soon as it owns them, so that nothing is fetched.
    """

    def __init__(self, config: dict[str, Any], settings: GroupSettings, runtime: Runtime) -> None:
        self._settings = settings
        self._runtime = runtime
        self._events = ClientEvents()
        self._commits: dict[str, KafkaError | None] = {}
        """The outcomes of commits by their metadata, a number."""
        self._commit_numbers = itertools.count(1)
        self._owned: frozenset[TopicPartition] = frozenset()
        self._rebalances = 0
        self._lost = False
        self._returned, self._returned_after = GroupAssignment(), 0
        self._busy = FairLock(runtime)
        self._closed = False
        self._client = Consumer({**config, **self._events.client_config(), "on_commit": self._on_commit})
        self._client.subscribe(
            [settings.topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    @property
    def authentication(self) -> FirstAuthentication:
        return self._settings.authentication

    @property
    def topic(self) -> str:
        """The topic that the members share."""
        return self._settings.topic

    @property
    def group_id(self) -> str:
        """The group."""
        return self._settings.group_id

    @needs("topic", "Describe", names="topic")
    @needs("group", "Read", names="group_id")
    def poll(self, timeout: float) -> GroupAssignment:
        with self._call("poll"):
            self._settings.authentication.require()
            deadline = self._runtime.now() + timeout
            # News are a rebalance that is over, or partitions that were revoked or lost.
            while self._rebalances == self._returned_after and self._owned == self._returned.partitions:
                if not self._serve(deadline) and self._runtime.now() >= deadline:
                    break
            self._returned, self._returned_after, self._lost = self._assignment(), self._rebalances, False
            return self._returned

    @needs("topic", "Read", names="topic")
    @needs("group", "Read", names="group_id")
    def confirm(self, timeout: float) -> None:
        with self._call("confirm"):
            self._refuse_unless_member()  # and once more below: the membership may be lost while the answer is awaited
            number = str(next(self._commit_numbers))
            where = KafkaPartition(self._settings.topic, 0, 0, metadata=number)
            self._client.commit(offsets=[where], asynchronous=True)
            error = self._commit_outcome(number, self._runtime.now() + timeout)
            if error is not None:
                raise eosfw_error(error, GROUP, self._what("confirm"))
            self._refuse_unless_member()
            if self._owned != self._returned.partitions:
                raise RebalanceInProgressError(f"{self._what('confirm')}: a rebalance moved partitions; poll again")

    def close(self, timeout: float = 5.0) -> None:
        if self._closed:
            return
        self._closed = True  # a poll on another thread ends at its next slice
        deadline = self._runtime.now() + timeout
        with self._busy.held(deadline) as held:
            if held:
                closing = DeadlineCall(self._runtime, f"eosfw-leave-{self._settings.group_id}")
                with suppress(EosfwError):
                    closing.run(self._client.close, lambda: max(0.0, deadline - self._runtime.now()) or None)

    # --- what librdkafka tells, on the thread that polls

    def _on_assign(self, client: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        added = [KafkaPartition(one.topic, one.partition, OFFSET_END) for one in partitions]
        client.incremental_assign(added)
        client.pause(added)
        self._owned |= _places(partitions)
        self._rebalances += 1

    def _on_revoke(self, client: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        client.incremental_unassign(list(partitions))
        self._owned -= _places(partitions)

    def _on_lost(self, client: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        self._lost = True
        self._on_revoke(client, partitions)

    def _on_commit(self, error: KafkaError | None, partitions: Sequence[KafkaPartition]) -> None:
        for one in partitions:
            self._commits[str(one.metadata)] = error or one.error

    # --- inside

    def _serve(self, deadline: float, longest: float = _SLICE) -> bool:
        """Run what librdkafka has to tell; False if that was nothing."""
        if self._closed:
            raise IllegalStateError("this group consumer was closed while it waited")
        left = max(0.0, deadline - self._runtime.now())
        message = self._client.poll(min(longest, left))
        error = None if message is None else message.error()
        if error is not None:
            self._on_error(error)
        return message is not None

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == codes.MAX_POLL_EXCEEDED:
            self._lost = True
            return
        if error.code() == Code.INCONSISTENT_GROUP_PROTOCOL:  # librdkafka's text does not say what that means
            raise InconsistentGroupProtocolError(f"{self._what('join')}: {MEANINGS[error.code()]} ({error.name()})")
        found = eosfw_error(error, GROUP, self._what("join"))
        # librdkafka looks for a cluster that cannot be reached by itself.
        if not isinstance(found, ClusterUnavailableError):
            raise found

    def _commit_outcome(self, number: str, deadline: float) -> KafkaError | None:
        pause = _SHORTEST
        while number not in self._commits:
            if not self._serve(deadline, pause) and self._runtime.now() >= deadline:
                late = f"{self._what('confirm')}: no answer{self._events.hint}"
                raise ClusterUnavailableError(f"{late}; is the cluster running?")
            pause = min(_SLICE, 2 * pause)
        outcome = self._commits[number]
        self._commits.clear()
        return outcome

    def _refuse_unless_member(self) -> None:
        """Refuse to confirm another membership than the last poll returned: librdkafka joins again by itself."""
        if self._lost or not self._returned.member_id or self._member_id() != self._returned.member_id:
            raise CommitFailedError(f"{self._what('confirm')}: this client is no member now; poll to join")

    def _assignment(self) -> GroupAssignment:
        member_id = self._member_id()
        generation = generation_of(self._client.consumer_group_metadata()) if member_id else -1
        return GroupAssignment(self._owned, member_id, generation, rebalancing=not (member_id and self._rebalances))

    def _member_id(self) -> str:
        return self._client.memberid() or ""

    @contextmanager
    def _call(self, what: str) -> Iterator[None]:
        if self._closed:
            raise IllegalStateError("this group consumer is closed")
        with self._busy.held(float("inf")), translated_errors(GROUP, self._what(what)):
            yield

    def _what(self, what: str) -> str:
        return f"{what} group {self._settings.group_id!r} at {self._settings.servers}"


def _places(partitions: Sequence[KafkaPartition]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(one.topic, one.partition) for one in partitions)
