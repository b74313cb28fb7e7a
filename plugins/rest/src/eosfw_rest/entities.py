"""The herder's values as the JSON objects of Kafka Connect (its `rest.entities`)."""

from __future__ import annotations

from typing import Any

from eosfw.ids import ConnectorTaskId
from eosfw.protocols import QueryProgress
from eosfw.protocols.herder import (
    ConfigInfos,
    ConnectorInfo,
    ConnectorPluginInfo,
    ConnectorState,
    ConnectorStateInfo,
    StreamingQueryInfo,
    TaskInfo,
    TaskStateInfo,
    WorkerGroup,
)


def _task_id(task: ConnectorTaskId) -> dict[str, Any]:
    return {"connector": task.connector, "task": task.task}


def connector_info(info: ConnectorInfo) -> dict[str, Any]:
    """Connect's `ConnectorInfo`."""
    tasks = [_task_id(task) for task in info.tasks]
    return {"name": info.name, "config": dict(info.config), "tasks": tasks, "type": info.type}


def task_info(info: TaskInfo) -> dict[str, Any]:
    """Connect's `TaskInfo`."""
    return {"id": _task_id(info.id), "config": dict(info.config)}


def connector_state_info(info: ConnectorStateInfo) -> dict[str, Any]:
    """Connect's `ConnectorStateInfo`."""
    return {
        "name": info.name,
        "connector": _state(info.connector),
        "tasks": [task_state(task) for task in info.tasks],
        "type": info.type,
    }


def task_state(info: TaskStateInfo) -> dict[str, Any]:
    """Connect's `ConnectorStateInfo.TaskState`."""
    return {"id": info.id, **_state(info)}


def _state(info: ConnectorState | TaskStateInfo) -> dict[str, Any]:
    state: dict[str, Any] = {"state": info.state, "worker_id": info.worker_id, "version": info.version}
    return state if info.trace is None else state | {"trace": info.trace}


def plugin_info(info: ConnectorPluginInfo) -> dict[str, Any]:
    """Connect's `PluginInfo`."""
    return {"class": info.class_name, "type": info.type, "version": info.version}


def config_infos(infos: ConfigInfos) -> dict[str, Any]:
    """Connect's `ConfigInfos`."""
    configs = [
        {"definition": None if info.definition is None else dict(info.definition), "value": dict(info.value)}
        for info in infos.configs
    ]
    return {"name": infos.name, "error_count": infos.error_count, "groups": list(infos.groups), "configs": configs}


def streaming_query(query: StreamingQueryInfo) -> dict[str, Any]:
    """A streaming step, as `GET /streaming-queries` lists it."""
    shown: dict[str, Any] = {"step": query.step, "topics": list(query.topics), "output": query.output}
    shown |= {"output_topic": query.output_topic, "progress": None}
    return shown if query.progress is None else shown | {"progress": _query_progress(query.progress)}


def _query_progress(progress: QueryProgress) -> dict[str, Any]:
    return {
        "rows": progress.rows,
        "rows_per_second": progress.rows_per_second,
        "behind": progress.behind,
        "held_back": list(progress.held_back),
        "batches": [
            {
                "number": batch.number,
                "started": int(batch.started * 1000),
                "seconds": batch.seconds,
                "rows": batch.rows,
                "read_to": [
                    {"topic": where.topic, "partition": where.partition, "offset": offset}
                    for where, offset in batch.read_to.items()
                ],
            }
            for batch in progress.batches
        ],
    }


def worker_group(group: WorkerGroup) -> dict[str, Any]:
    """The group with its workers, as `GET /group` answers."""
    return {
        "group_id": group.group_id,
        "generation": group.generation,
        "leader": group.leader,
        "protocol": group.protocol,
        "rebalancing": group.rebalancing,
        "notice": group.notice,
        "workers": [
            {
                "worker": member.worker,
                "url": member.url,
                "leader": member.worker == group.leader,
                "exactly_once_source_support": member.support,
                "version": member.version,
                "tasks": [_task_id(task) for task in member.tasks],
            }
            for member in group.members
        ],
        "moving": [
            {"id": _task_id(task.id), "worker": task.worker, "gone": task.gone, "until": task.until}
            for task in group.moving
        ],
    }
