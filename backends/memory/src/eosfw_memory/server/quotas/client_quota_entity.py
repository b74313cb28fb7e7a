"""Find the quota that counts for a client. Kafka's `DefaultQuotaCallback`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

USER: Final = "user"
CLIENT_ID: Final = "client-id"

Entity: TypeAlias = frozenset[tuple[str, str | None]]
"""Types with names; the name None is the default of its type."""
Quotas: TypeAlias = Mapping[Entity, Mapping[str, float]]
"""The values of each entity, by Kafka's names."""


def sorted_parts(entity: Entity) -> list[tuple[str, str | None]]:
    """Types with names, in the order in which they are shown and stored."""
    return sorted(entity, key=lambda each: each[0])


class Client(NamedTuple):
    """A client as quotas see it; also those who share one, where an empty name stands for everybody's."""

    user: str
    client_id: str


class Limit(NamedTuple):
    """The quota of a client, and who shares it."""

    bound: float
    shared_by: Client


def limit_of(quotas: Quotas, key: str, client: Client) -> Limit | None:
    """The most specific quota of a client, by the order of Kafka's documentation; None without any."""
    for entity, shared_by in _levels(client):
        if (bound := quotas.get(entity, {}).get(key)) is not None:
            return Limit(bound, shared_by)
    return None


def _levels(client: Client) -> Iterator[tuple[Entity, Client]]:
    """The entities whose quotas may count for a client, the most specific one first."""
    for user in (client.user, None):
        if client.client_id:  # a client without an id has quotas of users alone
            yield frozenset({(USER, user), (CLIENT_ID, client.client_id)}), client
            yield frozenset({(USER, user), (CLIENT_ID, None)}), client
        yield frozenset({(USER, user)}), Client(client.user, "")
    if client.client_id:
        yield frozenset({(CLIENT_ID, client.client_id)}), Client("", client.client_id)
        yield frozenset({(CLIENT_ID, None)}), Client("", client.client_id)
