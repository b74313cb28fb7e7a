"""Remember what clients read in incremental fetches (KIP-227); Kafka's `FetchSessionCache`.

A session is what one client fetches from this broker, with what it was last told of each partition. It lies in memory
alone: a client whose session is gone is told so, and names all partitions again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, Final, TypeAlias
from uuid import UUID

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.fetch_metadata import INITIAL_EPOCH, LARGEST, NO_SESSION, next_epoch

_EVICTION_MS: Final = 120_000
"""Kafka's `MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`: who lives, or rests, for longer may make room for others."""
_RANDOM: Final = SystemRandom()

PartitionKey: TypeAlias = tuple["str | UUID", int]
"""A partition as the client names it: by the name of its topic or by its id."""


@dataclass(slots=True)
class CachedPartition:
    """One partition of a session: what the client wants of it, and what it was told last."""

    topic: str | UUID
    request: Any
    """The part of the request that is about it."""
    name: str = ""
    """Where the topic was named by id: its name, once that was found."""
    high_watermark: int = -1
    log_start_offset: int = -1

    @property
    def key(self) -> PartitionKey:
        """What tells it from the other partitions."""
        return self.topic, self.request.partition

    def update(self, answer: Any) -> bool:
        """Take what the client is told now; whether it is anything new."""
        end, start = answer["high_watermark"], answer.get("log_start_offset", -1)
        failed = answer["error_code"] is not Code.NONE
        told = failed or bool(answer["records"]) or (end, start) != (self.high_watermark, self.log_start_offset)
        # Behind an error the partition is told again, whatever its offsets are then.
        self.high_watermark, self.log_start_offset = -1 if failed else end, start
        return told


@dataclass(slots=True, eq=False)
class FetchSession:
    """What one client reads. Kafka's `FetchSession`."""

    session_id: int
    privileged: bool
    """Whether it belongs to a replica."""
    by_id: bool
    """Whether the client names topics by id."""
    created_ms: int
    used_ms: int
    partitions: dict[PartitionKey, CachedPartition]
    """In the order in which they are read."""
    epoch: int = INITIAL_EPOCH + 1
    """The epoch of the fetch that is expected next."""
    size: int = 0
    """How many partitions it had at its last use."""
    old: bool = False
    """Whether it was long in use at its last use."""

    def move_to_end(self, key: PartitionKey) -> None:
        """Read a partition behind all others next time, so that each gets its share of an answer."""
        if key in self.partitions:
            self.partitions[key] = self.partitions.pop(key)


class FetchSessionCache:
    """The sessions of one broker, `max.incremental.fetch.session.cache.slots` at most.

    A new session takes the place of one that was not used for two minutes, or of the smallest one that is older than
    two minutes and has fewer partitions; a replica's takes that of the smallest client's.
    """

    def __init__(
        self, slots: int, now_ms: Callable[[], int], new_id: Callable[[], int] = lambda: _RANDOM.randint(1, LARGEST)
    ) -> None:
        self._slots = slots
        self._now_ms = now_ms
        self._new_id = new_id
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        """The one that was used longest ago is the first."""

    def __len__(self) -> int:
        return len(self._sessions)

    def clear(self) -> None:
        """Forget every session, as a restart does."""
        self._sessions.clear()

    def remove(self, session_id: int) -> None:
        """End a session, if there is one of the id."""
        self._sessions.pop(session_id, None)

    def create(self, partitions: Collection[CachedPartition], *, privileged: bool, by_id: bool) -> int:
        """Begin a session; give its id, or `NO_SESSION` where there is no room."""
        now_ms = self._now_ms()
        if len(self._sessions) >= self._slots and not self._evict(len(partitions), now_ms, privileged=privileged):
            return NO_SESSION
        # By chance, as in Kafka: a client of an earlier run, or of another broker, does not meet another one's session.
        while (session_id := self._new_id()) in self._sessions:
            pass
        kept = {each.key: each for each in partitions}
        self._sessions[session_id] = made = FetchSession(session_id, privileged, by_id, now_ms, now_ms, kept)
        self._touch(made, now_ms)
        return session_id

    def use(self, session_id: int, epoch: int, *, by_id: bool) -> FetchSession:
        """The session of an incremental fetch; KafkaError if this is not the fetch that it expects."""
        found = self._sessions.get(session_id)
        if found is None:
            raise KafkaError(Code.FETCH_SESSION_ID_NOT_FOUND)
        if found.epoch != epoch:
            raise KafkaError(Code.INVALID_FETCH_SESSION_EPOCH)
        if found.by_id is not by_id:
            raise KafkaError(Code.FETCH_SESSION_TOPIC_ID_ERROR)
        return found

    def advance(self, session: FetchSession) -> None:
        """Note that a session was used: its next fetch has the next epoch."""
        session.epoch = next_epoch(session.epoch)
        self._touch(session, self._now_ms())

    def _touch(self, session: FetchSession, now_ms: int) -> None:
        session.used_ms, session.size = now_ms, len(session.partitions)
        session.old = now_ms - session.created_ms > _EVICTION_MS
        self._sessions.move_to_end(session.session_id)

    def _evict(self, size: int, now_ms: int, *, privileged: bool) -> bool:
        """Make room for a session of so many partitions; whether there is room now."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.used_ms > _EVICTION_MS:
            self.remove(oldest.session_id)
            return True
        evictable = (each for each in self._sessions.values() if each.old or (privileged and not each.privileged))
        least = min(evictable, key=_value, default=None)
        if least is None or (privileged, size, 0) < _value(least):
            return False
        self.remove(least.session_id)
        return True


def _value(session: FetchSession) -> tuple[bool, int, int]:
    """By which sessions are compared; the least goes first."""
    return session.privileged, session.size, session.session_id
