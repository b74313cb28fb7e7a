"""Answers about states of connectors and tasks, from the status topic (`AbstractHerder.connectorStatus`)."""

from __future__ import annotations

from dataclasses import replace

from eosfw.errors import NotFoundError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import ActiveTopics, ConnectorState, ConnectorStateInfo, TaskStateInfo
from eosfw.runtime.distributed.services import HerderServices
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.group_requests import RestartRequest
from eosfw.state.storage.status_records import ReportedStatus

RESTARTING = "RESTARTING"


class StateQueries:
    """Reads the status topic to its end for each answer, so that nobody is told an older state while it can be read."""

    def __init__(self, services: HerderServices) -> None:
        self._services = services
        self._looked_at: int | None = None
        """The version of the config topic by which outdated states were looked for last."""

    def connector(self, name: str) -> ConnectorStateInfo:
        """The state of a connector and its tasks."""
        self._services.statuses.refresh()
        found = self._known(name) if self._services.topic.entry(name).properties is not None else None
        if found is None:
            raise NotFoundError(f"No status found for connector {name}")
        return found

    def connectors(self) -> dict[str, ConnectorStateInfo]:
        """The states of all connectors of which the topic has one, by a single read of it."""
        self._services.statuses.refresh()
        found = {name: self._known(name) for name in self._services.topic.connectors()}
        return {name: state for name, state in found.items() if state is not None}

    def _known(self, name: str) -> ConnectorStateInfo | None:
        found = self._services.statuses.connector(name)
        if found is None:
            return None
        tasks = self._services.statuses.tasks(name)
        return ConnectorStateInfo(
            name,
            ConnectorState(found.state, found.worker_id, found.trace, found.version),
            [_task(task, status) for task, status in tasks.items()],
        )

    def task(self, task: ConnectorTaskId) -> TaskStateInfo:
        """The state of a task."""
        self._services.statuses.refresh()
        found = self._services.statuses.task(task)
        if found is None:
            raise NotFoundError(f"No status found for task {task}")
        return _task(task, found)

    def restart_plan(self, request: RestartRequest) -> ConnectorStateInfo | None:
        """The states with RESTARTING where something will be restarted (`RestartPlan`); None without a status."""
        try:
            now = self.connector(request.connector)
        except NotFoundError:
            return None
        connector, tasks = now.connector, now.tasks
        if request.restarts_connector(connector.state):
            connector = replace(connector, state=RESTARTING)
        planned = [replace(one, state=RESTARTING) if request.restarts_task(one.state) else one for one in tasks]
        return ConnectorStateInfo(now.name, connector, planned)

    def topics(self, name: str) -> ActiveTopics:
        """The topics that a connector uses."""
        self._services.statuses.refresh()
        return ActiveTopics(name, self._services.statuses.topics(name))

    def reset_topics(self, name: str) -> None:
        """Forget the topics that a connector uses."""
        self._services.statuses.read_to_end()
        for topic in self._services.statuses.topics(name):
            self._services.statuses.delete_topic(name, topic)
        self._services.statuses.flush()

    def delete_outdated(self) -> None:
        """Forget connectors and tasks that do not exist any more, as the leader does (`updateDeletedTaskStatus`).

        It is called again and again: only connectors with a new state or a new configuration are looked at.
        """
        topic, statuses = self._services.topic, self._services.statuses
        changes, reported = topic.changes_since(self._looked_at or 0), statuses.take_changed()
        known = statuses.connectors() if self._looked_at is None else reported.union(changes.names)
        for name in known:
            self._delete_outdated_of(name, topic.entry(name))
        self._looked_at = changes.version

    def forget(self) -> None:
        """Look at every state anew: another worker has led the group meanwhile."""
        self._looked_at = None

    def _delete_outdated_of(self, name: str, entry: ConnectorEntry) -> None:
        statuses = self._services.statuses
        if entry.properties is None:
            if statuses.knows(name):
                statuses.delete_connector(name)
            for topic in statuses.topics(name):
                statuses.delete_topic(name, topic)
            return
        for task in statuses.tasks(name):
            if task.task >= len(entry.tasks) and not entry.inconsistent:
                statuses.delete_task(task)


def _task(task: ConnectorTaskId, status: ReportedStatus) -> TaskStateInfo:
    return TaskStateInfo(task.task, status.state, status.worker_id, status.trace, status.version)
