"""The installed plugins, with a test's own connectors and parts added or put in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eosfw.concurrency import Runtime
from eosfw.connectors import SourceConnector
from eosfw.errors import PluginError
from eosfw.protocols import (
    Backend,
    Fencer,
    IsolationReader,
    OffsetStore,
)
from eosfw.registry import Plugins, contract_problem
from pytest_eos.environment.clusters.cleanup import CreatedResources
from pytest_eos.environment.clusters.resource_recorder import RecordingBackend, record_resources
from pytest_eos.environment.diagnostics.task_calls import CallLog, record_tasks
from pytest_eos.runs.groups.fencing_outcomes import FencingOutcomes
from pytest_eos.runs.groups.provenance import Authors, SigningBackend
from pytest_eos.runs.groups.task_requests import TaskRequests

Wrap = Callable[[Backend], Backend]


class ExtraPlugins(Plugins):
    """The installed plugins, with a test's connectors and replacements.

    Its backends record the author of each record. `wrap` puts a backend of the test below that.
    """

    def __init__(self, installed_plugins: Plugins, authors: Authors, created: CreatedResources | None = None) -> None:
        super().__init__(installed_plugins.registered(), installed_plugins.failures)
        self._authors, self._created = authors, created
        self._connectors: dict[str, type[SourceConnector]] = {}
        self.fencer_class: type[Fencer] | None = None
        self.offset_store_class: type[OffsetStore] | None = None
        self.isolation_reader_class: type[IsolationReader] | None = None
        self.wrap: Wrap = _unchanged
        self.calls = CallLog()
        """The calls of this test's tasks."""
        self.requests = TaskRequests(authors)
        """What this test's tasks asked for."""
        self.fencings = FencingOutcomes()
        """What came of this test's fencings."""

    def add_connector(self, connector: type[SourceConnector]) -> str:
        """Offer a connector; return the name under which it is found. PluginError if it breaks its contract."""
        problem = contract_problem("connector", connector)
        if problem is not None:
            raise PluginError(problem)
        name: str = connector.name
        self._connectors[name] = connector
        return name

    def connector(self, connector_class: str) -> SourceConnector:
        own = self._connectors.get(connector_class)
        found = super().connector(connector_class) if own is None else own()
        # The calls are recorded next to the connector's own code, whose frames a report of one that blocks shows.
        return record_tasks(self.calls.record_connector(found), self.requests)

    def connector_version(self, connector_class: str) -> str | None:
        own = self._connectors.get(connector_class)
        return super().connector_version(connector_class) if own is None else own.version

    def backend(self, name: str) -> Any:
        return _SigningBackendFactory(super().backend(name), self._authors, self._wrapped)

    def _wrapped(self, backend: Backend) -> Backend:
        wrapped: Backend = record_resources(self.wrap(backend), self._created)
        return wrapped

    def fencer(self, backend: str, name: str | None = None) -> type[Fencer]:
        return self.fencings.record_fencer(_with_real_backend(self.fencer_class or super().fencer(backend, name)))

    def offset_store(self, name: str = "kafka") -> OffsetStore:
        return super().offset_store(name) if self.offset_store_class is None else self.offset_store_class()

    def isolation_reader(self, name: str = "read_committed") -> type[IsolationReader]:
        return self.isolation_reader_class or super().isolation_reader(name)


def _unchanged(backend: Backend) -> Backend:
    return backend


class _SigningBackendFactory:
    """Takes the place of a backend's class; its backends record the author of each record."""

    def __init__(self, kind: type[Backend], authors: Authors, wrap: Wrap) -> None:
        self._kind, self._authors, self._wrap = kind, authors, wrap
        self.name, self.capabilities = kind.name, kind.capabilities

    def connect(self, properties: Mapping[str, str], runtime: Runtime) -> Any:
        return SigningBackend(self._wrap(self._kind.connect(properties, runtime)), self._authors)


def _with_real_backend(kind: type[Fencer]) -> type[Fencer]:
    """A fencer that gets the original backend: it may use more of that than the protocol."""

    def connect(_: type[Fencer], backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> Fencer:
        real = backend.real if isinstance(backend, SigningBackend) else backend
        return kind.connect(real.real if isinstance(real, RecordingBackend) else real, properties, runtime)

    made: type[Fencer] = type(kind.__name__, (kind,), {"connect": classmethod(connect)})
    return made
