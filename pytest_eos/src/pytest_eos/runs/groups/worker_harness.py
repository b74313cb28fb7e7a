"""Connect a test to its cluster and run workers there."""

from __future__ import annotations

import random
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import ascii_lowercase

import pytest

from eosfw.config.parts import ISOLATION_READER, PartChoice
from eosfw.observe import History
from eosfw.pipeline import ClusterChoice
from eosfw.protocols import Backend, Fencer, IsolationReader, Observer, OffsetStore
from pytest_eos.environment.clusters.cleanup import CreatedResources
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.environment.clusters.resource_recorder import record_resources
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.config.session_statistics import SessionStatistics
from pytest_eos.runs.groups.distributed_group import DistributedGroup, GroupPlace
from pytest_eos.runs.groups.extra_plugins import ExtraPlugins, Wrap
from pytest_eos.runs.groups.provenance import Authors
from pytest_eos.runs.groups.worker_group import POLL_INTERVAL, VIRTUAL_POLL_INTERVAL, Waiter, WorkerGroup, as_texts


@dataclass(frozen=True, slots=True)
class HarnessSettings:
    """The settings of one test: its id, its folder, its seed, its patience in seconds."""

    nodeid: str
    folder: Path
    seed: int
    patience: float
    required: Collection[str] = ()
    """What must not be missing (`--eos-require`)."""
    command: str = ""
    """What runs the test again but for the seed; empty where a failure does not say so."""


class WorkerHarness:
    """The cluster of one test, its client, and its workers."""

    def __init__(
        self,
        cluster: Cluster,
        backend: str,
        settings: HarnessSettings,
        *,
        statistics: SessionStatistics | None = None,
        created: CreatedResources | None = None,
    ) -> None:
        self.cluster, self.backend_name, self.settings = cluster, backend, settings
        self.statistics = statistics or SessionStatistics()
        self.runtime = cluster.runtime
        self.history = History(self.runtime)
        """The history of all workers of the test."""
        self.authors = Authors()
        self.waiter = Waiter(
            self.runtime, settings.patience, longest=VIRTUAL_POLL_INTERVAL if cluster.virtual else POLL_INTERVAL
        )
        self._names = random.Random(f"{settings.seed} {settings.nodeid} names")  # noqa: S311 - repeatable on purpose, no secret
        self._created = created
        self._plugins = ExtraPlugins(installed_plugins(), self.authors, created)
        self._workers: list[WorkerGroup] = []
        self._users: dict[str, str | None] = {}
        """Whose rights the workers of each group have; None for all rights."""
        self._undo = ExitStack()
        self._backend: Backend | None = None

    @property
    def backend(self) -> Backend:
        """A client of the cluster, for the test's own reads and writes."""
        if self._backend is None:
            connected = installed_plugins().backend(self.backend_name).connect(self.cluster.client, self.runtime)
            self._backend = record_resources(connected, self._created)
            self._undo.callback(self._backend.close)
        return self._backend

    @property
    def groups(self) -> Sequence[WorkerGroup]:
        """The workers and groups that the test created, oldest first."""
        return self._workers

    @property
    def plugins(self) -> ExtraPlugins:
        """The plugins that workers of this test use."""
        return self._plugins

    def use(
        self,
        *,
        fencer: type[Fencer] | None = None,
        offset_store: type[OffsetStore] | None = None,
        isolation_reader: type[IsolationReader] | None = None,
        wrap_backend: Wrap | None = None,
    ) -> None:
        """Use parts under test in place of the installed ones; call it before the first worker is created."""
        plugins = self._plugins
        plugins.fencer_class = fencer or plugins.fencer_class
        plugins.offset_store_class = offset_store or plugins.offset_store_class
        plugins.isolation_reader_class = isolation_reader or plugins.isolation_reader_class
        plugins.wrap = wrap_backend or plugins.wrap

    def require_capabilities(self, *needed: str) -> None:
        """Fail the test if its backend lacks a capability."""
        lacking = installed_plugins().backend(self.backend_name).capabilities.lacking(*needed)
        if lacking:
            there = installed_plugins()
            others = [name for name in there.names("backend") if not there.backend(name).capabilities.lacking(*needed)]
            known = f"backends that can: {', '.join(others)}" if others else "no installed backend can"
            pytest.fail(
                f"backend {self.backend_name!r} lacks {', '.join(lacking)}, which this test needs; {known}",
                pytrace=False,
            )

    def worker(
        self,
        group: str | None = None,
        *,
        user: str | None = None,
        observers: Sequence[Observer] = (),
        **properties: object,
    ) -> WorkerGroup:
        """The test's worker; a new one if a group or properties (`offset_flush_interval_ms=10`) are given.

        A second worker of a group takes over from the first, or continues where that one stopped. It has the
        properties of the first one, except for those that are given. Its clients have the rights of a `user` of
        `@pytest.mark.eos_cluster(rights=...)`, or of that of the first one.
        """
        if group is None and not properties and user is None and self._workers:
            if not self._workers[-1].stopped:
                return self._workers[-1]
            group = self._workers[-1].name
        given = {name.replace("_", "."): value for name, value in properties.items()}
        name = group or self.fresh_group()
        user = self._users[name] = user or self._users.get(name)
        client = self.cluster.client if user is None else self.cluster.client_of(user)
        made = WorkerGroup(
            name,
            ClusterChoice(self.backend_name, client),
            self._plugins,
            self.waiter,
            observers=(self.history, self.authors, *observers),
            properties={**self._group_properties(group), **as_texts(given)},
            served=self.cluster.local,
        )
        self._undo.enter_context(made)
        self._workers.append(made)
        return made

    def distributed(
        self, workers: int = 3, *, observers: Sequence[Observer] = (), **properties: object
    ) -> DistributedGroup:
        """A new group of several workers, all started, named `a`, `b`, ...; `properties` as for `worker`.

        Its workers reach each other without a network. `scheduled_rebalance_max_delay_ms=0` gives the tasks of a lost
        worker to others as soon as the group has missed it; by default that takes five (virtual) minutes more.
        """
        if not 1 <= workers <= len(ascii_lowercase):
            raise ValueError(f"a group of {workers} workers: it must have 1 to {len(ascii_lowercase)}, `a` to `z`")
        given = {name.replace("_", "."): value for name, value in properties.items()}
        made = DistributedGroup(
            self.fresh_group(),
            GroupPlace(self.cluster, self.backend_name, self.waiter),
            self._plugins,
            observers=(self.history, self.authors, *observers),
            properties=as_texts(given),
        )
        self._undo.enter_context(made)
        self._workers.append(made)
        for name in islice(ascii_lowercase, workers):
            made.start(name)
        return made

    def _group_properties(self, group: str | None) -> Mapping[str, str]:
        """The properties of the last worker of a group; empty if there is none."""
        return next((one.properties for one in reversed(self._workers) if one.name == group), {})

    def fresh_group(self) -> str:
        """A new, unique name of a worker group."""
        chance = self._names.getrandbits(128) if self.cluster.virtual else uuid.uuid4().int
        name = f"eos-{chance:032x}"[:12]
        if self._created is not None:
            self._created.prefixes.add(f"{name}-")
        return name

    def reader_choice(self) -> PartChoice:
        """The isolation reader that the newest worker chose; topics are read by it."""
        return self._workers[-1].local.reader_choice if self._workers else PartChoice(ISOLATION_READER)
