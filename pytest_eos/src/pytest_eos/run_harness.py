"""Create runs of connectors on the workers of a test."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.connectors import SourceConnector
from pytest_eos.run import Run, Topic
from pytest_eos.worker_group import WorkerGroup, as_texts
from pytest_eos.worker_harness import WorkerHarness


class RunHarness(WorkerHarness):
    """A test's workers, with the runs of connectors on them."""

    last_run: Run | None = None
    """The run that was created last: its connector names the records that are expected of a DataFrame."""

    def default_connector_name(self, connector: str) -> str:
        """What a connector is called in a run that does not say: `module:Class` and names alike."""
        return connector.rpartition(":")[2].lower()

    def create_run(
        self,
        connector: type[SourceConnector] | str,
        properties: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        worker: WorkerGroup | None = None,
    ) -> Run:
        """A run that is set up but not put on its worker yet: `run.group.put(run.name, run.properties)` does that."""
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
        """A topic of the cluster, to be read or judged."""
        return Topic(self, (name,))
