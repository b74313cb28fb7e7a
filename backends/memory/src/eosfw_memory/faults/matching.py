"""Match rules with requests and points, by client, transactional id, group and topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from eosfw_memory.faults.rules import Rule
    from eosfw_memory.server.broker.broker import Context

_TRANSACTION = 1
"""The type of key by which FindCoordinator asks for a transactional id."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A request, or a point that the broker reached, with the names that a rule can match."""

    what: str
    """The name of the request or of the point."""
    client_id: str | None = None
    transactional_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, request: Any, context: Context) -> Self:
        """The occurrence of a request."""
        client_id = getattr(context, "client_id", None)
        return cls(
            name, client_id, tuple(_transactional_ids(request)), tuple(_groups(request)), tuple(_topics(request))
        )

    def at(
        self, point: str, transactional_id: str | None = None, topic: str | None = None, group_id: str | None = None
    ) -> Occurrence:
        """A point reached while this request is served; names that are given replace those of the request."""
        ids = self.transactional_ids if transactional_id is None else (transactional_id,)
        topics = self.topics if topic is None else (topic,)
        groups = self.group_ids if group_id is None else (group_id,)
        return replace(self, what=point, transactional_ids=ids, topics=topics, group_ids=groups)

    def matches(self, rule: Rule) -> bool:
        """Whether a rule names nothing that differs here."""
        return (
            rule.client_id in (None, self.client_id)
            and (rule.transactional_id is None or rule.transactional_id in self.transactional_ids)
            and (rule.group_id is None or rule.group_id in self.group_ids)
            and (rule.topic is None or rule.topic in self.topics)
            and (rule.only is None or rule.only())
        )


@dataclass(frozen=True, slots=True)
class Firing:
    """One time that a fault happened."""

    at_ms: int
    """By the broker's clock."""
    occurrence: Occurrence


def _transactional_ids(request: Any) -> Iterator[str]:
    for name in ("transactional_id", "v3_and_below_transactional_id"):
        if (found := getattr(request, name, None)) is not None:
            yield found
    yield from getattr(request, "transactional_ids", None) or ()
    for each in getattr(request, "transactions", None) or ():
        yield each.transactional_id
    if getattr(request, "key_type", None) == _TRANSACTION:
        yield from _keys(request)


def _groups(request: Any) -> Iterator[str]:
    if (found := getattr(request, "group_id", None)) is not None:
        yield found
    for each in getattr(request, "groups", None) or ():
        yield getattr(each, "group_id", each)
    if hasattr(request, "key_type") and request.key_type != _TRANSACTION:
        yield from _keys(request)


def _keys(request: Any) -> Iterator[str]:
    if (found := getattr(request, "key", None)) is not None:
        yield found
    yield from getattr(request, "coordinator_keys", None) or ()


def _topics(request: Any) -> Iterator[str]:
    """The topics of a request; those it names by id only are not found."""
    for where in ("topic_data", "topics", "v3_and_below_topics", "topic_names"):
        for each in getattr(request, where, None) or ():
            name = each if isinstance(each, str) else getattr(each, "name", None) or getattr(each, "topic", None)
            if name is not None:
                yield name
    for each in getattr(request, "transactions", None) or ():
        yield from (topic.name for topic in each.topics)
