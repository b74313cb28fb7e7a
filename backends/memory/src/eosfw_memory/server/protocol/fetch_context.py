"""Decide which partitions a fetch is about, and which its answer names; Kafka's `FetchContext` (KIP-227)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from eosfw_memory.common.codes import Code
from eosfw_memory.common.fetch_metadata import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION
from eosfw_memory.server.broker.fetch_sessions import CachedPartition, FetchSession, FetchSessionCache, PartitionKey

PartitionAnswers: TypeAlias = Sequence[tuple[CachedPartition, Mapping[str, Any]]]
"""What is answered for each partition, in the order of the answer."""


class FetchAnswer(NamedTuple):
    """An answer as a whole, with what it says of partitions."""

    code: Code
    session_id: int
    partitions: PartitionAnswers


class FetchContext(Protocol):
    """One fetch."""

    @property
    def partitions(self) -> Collection[CachedPartition]:
        """What is fetched, in this order."""

    def answer(self, found: PartitionAnswers) -> FetchAnswer:
        """The answer, where this was found; called once, when the answer is sent."""

    def throttled(self) -> FetchAnswer:
        """The answer in its place to a client that has to wait: it names no partition, and the next fetch all news."""


def fetch_context(cache: FetchSessionCache, request: Any, *, by_id: bool, privileged: bool) -> FetchContext:
    """What a request fetches; KafkaError where its session is not there, or expects another fetch."""
    session_id = getattr(request, "session_id", NO_SESSION)
    epoch = getattr(request, "session_epoch", FINAL_EPOCH)
    named = _named(request, by_id=by_id)
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        cache.remove(session_id)
        if epoch == FINAL_EPOCH:
            return _Sessionless(named.values())
        return _Full(cache, named.values(), by_id=by_id, privileged=privileged)
    session = cache.use(session_id, epoch, by_id=by_id)
    for key, partition in named.items():
        if (known := session.partitions.get(key)) is not None:
            known.request = partition.request
        else:
            session.partitions[key] = partition
    for topic in request.forgotten_topics_data:
        for number in topic.partitions:
            session.partitions.pop((topic.topic_id if by_id else topic.topic, number), None)
    if not session.partitions:
        cache.remove(session_id)
        return _Sessionless(named.values())
    cache.advance(session)
    return _Incremental(session)


def _named(request: Any, *, by_id: bool) -> dict[PartitionKey, CachedPartition]:
    """The partitions of a request; of one that is named twice the last counts."""
    found: dict[PartitionKey, CachedPartition] = {}
    for topic in request.topics:
        name = topic.topic_id if by_id else topic.topic
        for each in topic.partitions:
            found[name, each.partition] = CachedPartition(name, each)
    return found


class _Sessionless:
    """A fetch that names all partitions and wants no session."""

    def __init__(self, partitions: Collection[CachedPartition]) -> None:
        self.partitions = partitions

    def answer(self, found: PartitionAnswers) -> FetchAnswer:
        return FetchAnswer(Code.NONE, NO_SESSION, found)

    def throttled(self) -> FetchAnswer:
        return FetchAnswer(Code.NONE, NO_SESSION, ())


class _Full(_Sessionless):
    """A fetch that names all partitions and begins a session."""

    def __init__(
        self, cache: FetchSessionCache, partitions: Collection[CachedPartition], *, by_id: bool, privileged: bool
    ) -> None:
        super().__init__(partitions)
        self._cache = cache
        self._by_id = by_id
        self._privileged = privileged

    def answer(self, found: PartitionAnswers) -> FetchAnswer:
        for partition, answer in found:
            partition.update(answer)
        session_id = self._cache.create(self.partitions, privileged=self._privileged, by_id=self._by_id)
        return FetchAnswer(Code.NONE, session_id, found)


class _Incremental:
    """A fetch in a session: it names what changed for the client, its answer what changed here."""

    def __init__(self, session: FetchSession) -> None:
        self._session = session
        self._epoch = session.epoch
        self.partitions = tuple(session.partitions.values())

    def answer(self, found: PartitionAnswers) -> FetchAnswer:
        session = self._session
        if not self._is_current():
            return FetchAnswer(Code.INVALID_FETCH_SESSION_EPOCH, session.session_id, ())
        news = [(partition, answer) for partition, answer in found if partition.update(answer)]
        for partition, answer in news:
            if answer["records"]:
                session.move_to_end(partition.key)
        return FetchAnswer(Code.NONE, session.session_id, news)

    def throttled(self) -> FetchAnswer:
        code = Code.NONE if self._is_current() else Code.INVALID_FETCH_SESSION_EPOCH
        return FetchAnswer(code, self._session.session_id, ())

    def _is_current(self) -> bool:
        """Whether no other connection has used the session while this answer was delayed."""
        return self._session.epoch == self._epoch
