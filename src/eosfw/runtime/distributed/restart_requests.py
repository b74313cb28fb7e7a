"""Restarts of connectors and tasks (KIP-745; part of Kafka Connect's `DistributedHerder`)."""

from __future__ import annotations

import logging

from eosfw.errors import EosfwError, NotAssignedError, NotFoundError, NotLeaderError, RequestTimeoutError, one_line
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import ConnectorStateInfo
from eosfw.runtime.distributed.reconfiguration import ConnectorReconfiguration
from eosfw.runtime.distributed.services import HerderServices
from eosfw.runtime.distributed.state_queries import RESTARTING, StateQueries
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.config_records import restart_record
from eosfw.state.storage.group_requests import RestartRequest

logger = logging.getLogger(__name__)

_NOT_OWN = "Cannot restart task since it is not assigned to this member"
_ONLY_LEADER = "Only the leader can process restart requests."


class RestartRequests:
    """Restarts what this worker runs, and asks the group to restart the rest."""

    def __init__(
        self, services: HerderServices, states: StateQueries, reconfiguration: ConnectorReconfiguration
    ) -> None:
        self._services, self._states, self._reconfiguration = services, states, reconfiguration

    def restart_connector(self, name: str) -> None:
        """Ask the connector for its tasks anew."""
        self._newest(name)
        self._services.require_leader(_ONLY_LEADER)
        self._reconfiguration.restart(name)

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStateInfo:
        """Have every worker restart its part; return what will be restarted."""
        self._newest(request.connector)
        self._services.require_leader(_ONLY_LEADER)
        plan = self._states.restart_plan(request)
        self._services.leader.write([restart_record(request)])
        self._services.wake()
        if plan is None:
            raise NotFoundError(f"Status for connector {request.connector} not found")
        return plan

    def restart_task(self, task: ConnectorTaskId) -> None:
        """Restart a task that runs here."""
        entry = self._newest(task.connector)
        if not 0 <= task.task < len(entry.tasks):
            raise NotFoundError(f"Unknown task: {task}")
        if self._services.member.is_own(task):
            self._services.tasks.restart(task.connector, [task.task])
        elif self._services.member.leads():
            raise NotAssignedError(_NOT_OWN, self._services.member.owner_url(task))
        else:
            raise NotLeaderError(_NOT_OWN, self._services.member.leader_url())

    def act_upon(self, request: RestartRequest) -> None:
        """Restart what this worker runs of a connector, after the request was read from the config topic."""
        plan = self._states.restart_plan(request)
        if plan is None:
            logger.info("nothing to restart of connector %s: no state of it is known", request.connector)
            return
        ids = [ConnectorTaskId(request.connector, one.id) for one in plan.tasks if one.state == RESTARTING]
        own = [task for task in ids if self._services.member.is_own(task)]
        logger.info("restarting %d of %d tasks of connector %s", len(own), len(plan.tasks), request.connector)
        for task in own:
            self._services.reports.restarting(task)
        if own:
            self._services.tasks.restart(request.connector, [task.task for task in own])
        if plan.connector.state == RESTARTING and self._services.member.leads():
            self._restart_own_connector(request.connector)

    def reload(self) -> None:
        """Restart what runs here with values of config providers that have expired (KIP-297).

        Each worker does so by itself, since each has looked values up by itself.
        """
        for expired in self._services.reloads.take_due():
            entry = self._services.topic.entry(expired.connector)
            if entry.properties is None:
                continue
            try:
                # First of all: a task with expired values may go on, one without values cannot start.
                self._services.planner.transformer.transform(entry.properties)
                if expired.connector_itself and self._services.member.leads():
                    self._reconfiguration.restart(expired.connector)
                if expired.tasks:
                    self._services.tasks.restart(expired.connector, expired.tasks, ended=False)
            except Exception as error:  # noqa: BLE001 those of other connectors are restarted all the same
                logger.warning("connector %s could not be reloaded yet: %s", expired.connector, one_line(error))
                self._services.reloads.retry(expired)

    def _restart_own_connector(self, name: str) -> None:
        self._services.reports.connector(name, RESTARTING)
        try:
            self._reconfiguration.restart(name)
        except RequestTimeoutError as error:
            logger.warning("connector %s is restarted later: %s", name, one_line(error))
            self._reconfiguration.request_restart(name)
        except Exception as error:  # noqa: BLE001 its state says so; other requests go on
            logger.warning("connector %s could not be restarted: %s", name, one_line(error))
            return

    def _newest(self, name: str) -> ConnectorEntry:
        """The connector, by the config topic read to its end (FEN-14)."""
        timeout = self._services.config["worker.sync.timeout.ms"] / 1000
        try:
            self._services.topic.read_to_end(timeout)
        except EosfwError as error:
            raise RequestTimeoutError(f"Failed to read to end of config topic: {error}") from error
        self._services.require_no_rebalance()
        return self._services.connector(name, "Unknown connector: {}")
