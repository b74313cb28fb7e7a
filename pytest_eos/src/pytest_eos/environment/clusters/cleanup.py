"""Remove from a running cluster what the tests of a session made there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from eosfw.errors import EosfwError
    from eosfw.protocols import Admin, Backend

_SHOWN = 3
_WAIT = 10.0


@dataclass(slots=True)
class CreatedResources:
    """What the tests of a session created on running clusters."""

    keep: bool = False
    """Whether everything is kept (`--eos-keep`)."""
    clusters: dict[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    """Each cluster by its address: the backend's name and the properties of its client."""
    prefixes: set[str] = field(default_factory=set)
    """Prefixes of topics and transactional ids that only these tests use: the name of a worker group and a dash."""
    topics: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    transactional_ids: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.clusters) and bool(self.prefixes or self.topics or self.groups or self.transactional_ids)

    def belongs(self, name: str) -> bool:
        """Whether a test created this topic or transactional id."""
        return name in self.topics or name in self.transactional_ids or name.startswith(tuple(self.prefixes))

    def lines(self) -> Iterator[str]:
        """Remove everything unless it is kept; yield one line of the summary for each cluster."""
        for address, (backend, client) in self.clusters.items():
            try:
                yield from _Removal(self, address).lines(backend, client)
            except Exception as why:  # noqa: BLE001 - the tests are over; a failed cleanup must not fail the session
                yield f"cluster {address}: could not remove what tests made: {why}"


CREATED_RESOURCES = pytest.StashKey[CreatedResources]()


class _Removal:
    """Removes what tests created on one cluster."""

    def __init__(self, made: CreatedResources, address: str) -> None:
        self._made, self._address = made, address

    def lines(self, name: str, client: Mapping[str, str]) -> Iterator[str]:
        from pytest_eos.environment.clusters.cluster import runtime
        from pytest_eos.environment.config.installed_plugins import installed_plugins

        with closing(installed_plugins().backend(name).connect(client, runtime())) as backend:
            lacking = backend.capabilities.lacking("delete_topics")
            with closing(backend.admin()) as admin:
                topics = sorted(filter(self._made.belongs, admin.partitions()))
                ids = self._ids(backend, admin)
                if self._made.keep or lacking:
                    why = f"backend {name!r} does not declare delete_topics" if lacking else "--eos-keep"
                    yield f"cluster {self._address}: {_quantities(topics, self._made.groups, ids)} stay ({why})"
                    return
                yield from self._remove(admin, topics, ids)

    def _remove(self, admin: Admin, topics: list[str], ids: set[str]) -> Iterator[str]:
        from eosfw.errors import GroupIdNotFoundError

        _end_what_is_open(admin, topics, ids)
        gone = admin.delete_topics(topics)
        ungrouped = {
            group: why
            for group, why in admin.delete_groups(sorted(self._made.groups)).items()
            if not isinstance(why, GroupIdNotFoundError)
        }
        yield (
            f"cluster {self._address}: removed {_quantities(_succeeded(gone), _succeeded(ungrouped))}; "
            f"{_quantities(ids=ids)} stay until the cluster forgets them (transactional.id.expiration.ms)"
        )
        failed = [str(why) for why in (*gone.values(), *ungrouped.values()) if why is not None]
        if failed:
            more = f", and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
            yield f"cluster {self._address}: left: {'; '.join(failed[:_SHOWN])}{more}"

    def _ids(self, backend: Backend, admin: Admin) -> set[str]:
        """The transactional ids, with those of workers in other processes if the cluster lists them."""
        found = set(self._made.transactional_ids)
        if not backend.capabilities.lacking("describe_transactions"):
            listed = (each.transactional_id for each in admin.list_transactions())
            found.update(filter(self._made.belongs, listed))
        return found


def _end_what_is_open(admin: Admin, topics: list[str], ids: set[str]) -> None:
    """Fence the ids if any transaction is open.

    An id without an open transaction is left alone: fencing would only postpone the time when it expires.
    """
    from eosfw.fence_producers_result import FenceProducersOptions
    from eosfw.ids import TopicPartition
    from eosfw.protocols import IsolationLevel

    ones = [TopicPartition(topic, n) for topic, count in admin.partitions(topics).items() for n in range(count)]
    written = admin.end_offsets(ones, IsolationLevel.READ_UNCOMMITTED)
    stable = admin.end_offsets(ones, IsolationLevel.READ_COMMITTED)
    if ids and stable != written:
        admin.fence_producers(sorted(ids), FenceProducersOptions(_WAIT)).outcomes()


def _succeeded(outcomes: Mapping[str, EosfwError | None]) -> list[str]:
    return [name for name, why in outcomes.items() if why is None]


def _quantities(
    topics: list[str] | None = None, groups: list[str] | set[str] | None = None, ids: set[str] | None = None
) -> str:
    from eosfw.text import quantity

    counts = ((topics, "topic"), (groups, "consumer group"), (ids, "transactional id"))
    return ", ".join(quantity(len(each), what) for each, what in counts if each is not None)
