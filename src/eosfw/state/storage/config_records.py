"""Records of the config topic, with the bytes of Kafka Connect (JsonConverter without schemas)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eosfw.state.storage.group_requests import RestartRequest
from eosfw.state.storage.session_key import SessionKey

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TASK_COUNT = "tasks-fencing-"
TASK_COUNT_IN_DRAFT = "tasks-count-"
TARGET_STATE = "target-state-"
SESSION_KEY = "session-key"
RESTART = "restart-connector-"
LOGGER = "logger-cluster-"

STARTED, PAUSED, STOPPED = "STARTED", "PAUSED", "STOPPED"
TARGET_STATES = (STARTED, PAUSED, STOPPED)
"""Kafka Connect's `TargetState`."""

WRITER = "eosfw.worker"
"""Header of a commit record with the worker that wrote it; Connect ignores headers here."""

RUN = "run@"
"""How the writers of `eosfw run` are named, a group of one that ends by itself; no host's name has an `@`."""


class ConfigRecord(NamedTuple):
    """Key and value of a record."""

    key: bytes
    value: bytes | None


def connector_record(name: str, properties: Mapping[str, str]) -> ConfigRecord:
    """The record of a connector's properties."""
    return _record(CONNECTOR + name, {"properties": dict(properties)})


def task_records(name: str, configs: Sequence[Mapping[str, str]]) -> list[ConfigRecord]:
    """The records of all tasks of a connector, then the commit record that applies them."""
    tasks = [_record(f"{TASK}{name}-{number}", {"properties": dict(config)}) for number, config in enumerate(configs)]
    return [*tasks, _record(COMMIT + name, {"tasks": len(configs)})]


def task_count_record(name: str, count: int) -> ConfigRecord:
    """The record of how many producers the next fencing round must fence (KIP-618)."""
    return _record(TASK_COUNT + name, {"task-count": count})


def session_key_record(key: SessionKey) -> ConfigRecord:
    """The record of a new session key (KIP-507)."""
    return _record(
        SESSION_KEY,
        {
            "key": base64.b64encode(key.key).decode(),
            "algorithm": key.algorithm,
            "creation-timestamp": key.creation_timestamp,
        },
    )


def target_state_record(name: str, state: str) -> ConfigRecord:
    """The record of the state that a connector shall be in; workers before KIP-875 read STOPPED as PAUSED."""
    return _record(TARGET_STATE + name, {"state": PAUSED if state == STOPPED else state, "state.v2": state})


def restart_record(request: RestartRequest) -> ConfigRecord:
    """The record that asks every worker to restart what it runs of a connector (KIP-745)."""
    fields = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
    return _record(RESTART + request.connector, fields)


def logger_level_record(namespace: str, level: str) -> ConfigRecord:
    """The record that asks every worker to set the level of a logger (KIP-976)."""
    return _record(LOGGER + namespace, {"level": level})


def removal_records(name: str) -> list[ConfigRecord]:
    """The records that delete a connector; its task count record stays, so a new one of that name still fences."""
    return [ConfigRecord(f"{kind}{name}".encode(), None) for kind in (CONNECTOR, TARGET_STATE)]


def _record(key: str, value: Mapping[str, object]) -> ConfigRecord:
    return ConfigRecord(key.encode(), json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
