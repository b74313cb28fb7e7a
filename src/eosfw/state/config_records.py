"""Records of the config topic, with the bytes of Kafka Connect (JsonConverter without schemas)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eosfw.state.session_key import SessionKey

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TASK_COUNT = "tasks-fencing-"
TASK_COUNT_IN_DRAFT = "tasks-count-"
TARGET_STATE = "target-state-"
SESSION_KEY = "session-key"
UNUSED = ("restart-connector-", "logger-cluster-")
"""Keys of Connect that this version skips: they are for workers that call each other by REST."""

WRITER = "eosfw.worker"
"""Header of a commit record with the worker that wrote it; Connect ignores headers here."""


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


def removal_records(name: str) -> list[ConfigRecord]:
    """The records that delete a connector; its task count record stays, so a new one of that name still fences."""
    return [ConfigRecord(f"{kind}{name}".encode(), None) for kind in (CONNECTOR, TARGET_STATE)]


def _record(key: str, value: Mapping[str, object]) -> ConfigRecord:
    return ConfigRecord(key.encode(), json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
