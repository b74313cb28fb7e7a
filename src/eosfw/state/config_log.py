"""Fold the config topic into what every worker of a group believes (KIP-618).

Everything is a log: the same records in the same order give the same answers, so a replay from the start is as good as
having listened all along.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eosfw.state import config_records as keys

_NOTHING: Mapping[int, Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class ConnectorEntry:
    """What the log says about one connector name, deleted ones included."""

    properties: Mapping[str, str] | None = None
    """None: never created, or deleted."""
    generation: int | None = None
    """How many task configurations took force, from 0; None before the first."""
    tasks: tuple[Mapping[str, str], ...] = ()
    """Empty while inconsistent."""
    applied_properties: Mapping[str, str] | None = None
    """The connector's properties when these tasks took force; `properties` may be newer (`AppliedConnectorConfig`)."""
    inconsistent: bool = False
    """A commit record came without all its tasks: new ones must be asked for."""
    task_count_record: int | None = None
    """How many producers may be zombies at most."""
    pending_fencing: bool = False
    """The newest task configurations stand without a task count record behind them."""
    target_state: str = "STARTED"
    committed_by: str | None = None
    """Which worker wrote the newest commit record, if it said so."""
    deferred: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Tasks that wait for their commit record."""


_UNKNOWN = ConnectorEntry()


class MalformedRecordError(ValueError):
    """A record of the config topic makes no sense: it is skipped, and told."""


class ConfigLog:
    """The fold; not thread-safe."""

    def __init__(self) -> None:
        self._entries: dict[str, ConnectorEntry] = {}
        self.position = 0
        """Offset behind the last record applied."""

    def entry(self, connector: str) -> ConnectorEntry:
        """What is known of a connector name."""
        return self._entries.get(connector, _UNKNOWN)

    def connectors(self) -> Mapping[str, ConnectorEntry]:
        """Every name the log ever spoke of."""
        return dict(self._entries)

    def apply(self, offset: int, key: bytes | None, value: bytes | None, writer: str | None = None) -> str | None:
        """Take one record into account; return why it was skipped, if it was."""
        self.position = max(self.position, offset + 1)
        try:
            name, change = _read(key, value)
        except MalformedRecordError as why:
            return str(why)
        if change is not None:
            before = self.entry(name)
            after = change(before)
            applied = after.generation != before.generation
            self._entries[name] = replace(after, committed_by=writer) if applied else after
        return None


Change = Callable[[ConnectorEntry], ConnectorEntry]


def _read(key: bytes | None, value: bytes | None) -> tuple[str, Change | None]:
    text = _key_text(key)
    for prefix, reader in _READERS.items():
        if text.startswith(prefix):
            return reader(text.removeprefix(prefix), _json(text, value))
    if text.startswith(keys.UNUSED):
        return "", None
    raise MalformedRecordError(f"config record with unknown key {text!r}")


def _key_text(key: bytes | None) -> str:
    try:
        return (key or b"").decode()
    except UnicodeDecodeError:
        raise MalformedRecordError(f"config record whose key {key!r} is no UTF-8") from None


def _json(key: str, value: bytes | None) -> Mapping[str, Any] | None:
    if value is None:
        return None
    try:
        read = json.loads(value)
    except ValueError:
        raise MalformedRecordError(f"config record {key!r} whose value is no JSON") from None
    if read is not None and not isinstance(read, dict):
        raise MalformedRecordError(f"config record {key!r} whose value is no object")
    return read


def _connector(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change]:
    if value is None:
        return name, lambda old: replace(old, properties=None, tasks=(), inconsistent=False, deferred=_NOTHING)
    properties = _properties(keys.CONNECTOR + name, value)
    return name, lambda old: replace(old, properties=properties)


def _task(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change | None]:
    connector, dash, number = name.rpartition("-")
    if not dash or not number.isdecimal():
        raise MalformedRecordError(f"config record with unknown key {keys.TASK + name!r}")
    if value is None:
        return connector, None
    properties = _properties(keys.TASK + name, value)
    return connector, lambda old: replace(old, deferred={**old.deferred, int(number): properties})


def _commit(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change | None]:
    if value is None:
        return name, None
    count = _count(keys.COMMIT + name, value, "tasks")
    return name, lambda old: _apply_commit(old, count)


def _apply_commit(old: ConnectorEntry, count: int) -> ConnectorEntry:
    if old.properties is None:  # what compaction left of a deleted connector (LOG-09)
        return replace(old, deferred=_NOTHING)
    # Compaction may leave tasks of earlier, larger generations: more than `count` is complete, less is not.
    if any(number not in old.deferred for number in range(count)):
        return replace(old, tasks=(), inconsistent=True, deferred=_NOTHING)
    return replace(
        old,
        tasks=tuple(old.deferred[number] for number in range(count)),
        applied_properties=old.properties,
        generation=0 if old.generation is None else old.generation + 1,
        inconsistent=False,
        pending_fencing=True,
        deferred=_NOTHING,
    )


def _task_count(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change | None]:
    return _counted(name, value, keys.TASK_COUNT, "task-count")


def _task_count_in_draft(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change | None]:
    return _counted(name, value, keys.TASK_COUNT_IN_DRAFT, "tasks")


def _counted(name: str, value: Mapping[str, Any] | None, prefix: str, field_name: str) -> tuple[str, Change | None]:
    if value is None:
        return name, None
    count = _count(prefix + name, value, field_name)
    return name, lambda old: replace(old, task_count_record=count, pending_fencing=False)


def _target_state(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change]:
    state = "STARTED" if value is None else value.get("state.v2", value.get("state"))
    if not isinstance(state, str):
        raise MalformedRecordError(f"config record {keys.TARGET_STATE + name!r} without a state")
    return name, lambda old: replace(old, target_state=state)


def _properties(key: str, value: Mapping[str, Any]) -> Mapping[str, str]:
    properties = value.get("properties")
    if not isinstance(properties, dict):
        raise MalformedRecordError(f"config record {key!r} without properties")
    return {str(name): text if isinstance(text, str) else json.dumps(text) for name, text in properties.items()}


def _count(key: str, value: Mapping[str, Any], field_name: str) -> int:
    count = value.get(field_name)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise MalformedRecordError(f"config record {key!r} whose {field_name!r} is no count")
    return count


Reader = Callable[[str, Mapping[str, Any] | None], tuple[str, Change | None]]
_READERS: Mapping[str, Reader] = {
    keys.CONNECTOR: _connector,
    keys.TASK: _task,
    keys.COMMIT: _commit,
    keys.TASK_COUNT: _task_count,
    keys.TASK_COUNT_IN_DRAFT: _task_count_in_draft,
    keys.TARGET_STATE: _target_state,
}
