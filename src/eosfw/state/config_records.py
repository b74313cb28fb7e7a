"""Write records of the config topic as Kafka Connect writes them (JsonConverter without schemas)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TASK_COUNT = "tasks-fencing-"
TASK_COUNT_IN_DRAFT = "tasks-count-"
TARGET_STATE = "target-state-"
UNUSED = ("restart-connector-", "session-key", "logger-cluster-")
"""Keys of Connect's that this version reads past: they concern workers that speak REST to each other."""

WRITER = "eosfw.worker"
"""Header of a commit record: which worker wrote it. Connect ignores headers here."""


class ConfigRecord(NamedTuple):
    """Key and value as they stand in the topic."""

    key: bytes
    value: bytes | None


def connector_record(name: str, properties: Mapping[str, str]) -> ConfigRecord:
    """State a connector's properties."""
    return _record(CONNECTOR + name, {"properties": dict(properties)})


def task_records(name: str, configs: Sequence[Mapping[str, str]]) -> list[ConfigRecord]:
    """State all tasks of a connector, closed by the commit record that puts them in force."""
    tasks = [_record(f"{TASK}{name}-{number}", {"properties": dict(config)}) for number, config in enumerate(configs)]
    return [*tasks, _record(COMMIT + name, {"tasks": len(configs)})]


def task_count_record(name: str, count: int) -> ConfigRecord:
    """State how many producers the next fencing round must shut out (KIP-618)."""
    return _record(TASK_COUNT + name, {"task-count": count})


def removal_records(name: str) -> list[ConfigRecord]:
    """Delete a connector; its task count record stays, so a connector created again under the name still fences."""
    return [ConfigRecord(f"{kind}{name}".encode(), None) for kind in (CONNECTOR, TARGET_STATE)]


def _record(key: str, value: Mapping[str, object]) -> ConfigRecord:
    return ConfigRecord(key.encode(), json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
