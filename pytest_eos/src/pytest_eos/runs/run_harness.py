"""Create runs of connectors on the workers of a test."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.connectors import SourceConnector
from pytest_eos.runs.groups.worker_group import WorkerGroup, as_texts
from pytest_eos.runs.groups.worker_harness import WorkerHarness
from pytest_eos.runs.run import Run, Topic


class RunHarness(WorkerHarness):
    """The harness of a test that creates runs of connectors on its workers."""

    last_run: Run | None = None
    """The run that was created last; its connector's name is part of the identities expected in a DataFrame."""

    comparisons = 0
    """How often all records were found exactly once."""

    def default_connector_name(self, connector: str) -> str:
        """The name of a connector in a run that gives none: the class name in lower case."""
        return connector.rpartition(":")[2].lower()

    def create_run(
        self,
        connector: type[SourceConnector] | str,
        properties: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        worker: WorkerGroup | None = None,
    ) -> Run:
        """Create a run without starting it; `run.group.put(run.name, run.properties)` starts it."""
        cls = connector if isinstance(connector, str) else self._plugins.add_connector(connector)
        group = worker or self.worker()
        name = name or self.default_connector_name(cls)
        kind = self._plugins.connector(cls)
        given = {"connector.class": cls, **as_texts(properties or {})}
        given.setdefault("eosfw.identity", "headers")
        given.setdefault("tasks.max", "2")
        if "topic" in kind.config.keys and "topic" not in given:
            given["topic"] = f"{group.name}-{name}"
        self.last_run = Run(self, group, name, given)
        return self.last_run

    def topic(self, name: str) -> Topic:
        """A topic of the cluster, to be read or compared."""
        return Topic(self, (name,))
