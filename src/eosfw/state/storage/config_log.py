"""The state of a group's connectors as the config topic says (KIP-618; Kafka Connect's `ClusterConfigState`).

The same records in the same order give the same state, so a replay from the start equals having read all along.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from eosfw.state.storage import config_records as keys
from eosfw.state.storage.group_requests import LoggerLevelRequest, RequestLog, RestartRequest
from eosfw.state.storage.session_key import SessionKey, SessionKeys
from eosfw.text import shown

_SESSION_KEY = keys.SESSION_KEY.encode()
_MOST_TASKS = 100_000
_MOST_DIGITS = len(str(_MOST_TASKS))
"""More than any connector has: a greater count is damage, and to fence so many ids would take all memory."""
_NOTHING: Mapping[int, Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class ConnectorEntry:
    """The state of one connector name; deleted connectors have one as well."""

    properties: Mapping[str, str] | None = None
    """None if the connector was never created, or is deleted."""
    generation: int | None = None
    """Counts the commit records that were complete, from 0; None before the first."""
    tasks: tuple[Mapping[str, str], ...] = ()
    """The task configurations of the generation; empty while inconsistent."""
    applied_properties: Mapping[str, str] | None = None
    """The connector's properties when these tasks took force; `properties` may be newer (`AppliedConnectorConfig`)."""
    inconsistent: bool = False
    """Whether a commit record came without all its tasks; the connector must be started again."""
    task_count_record: int | None = None
    """The number of tasks whose producers may be zombies (KIP-618)."""
    pending_fencing: bool = False
    """Whether no task count record follows the newest task configurations yet."""
    target_state: str = "STARTED"
    committed_by: str | None = None
    """The worker that wrote the newest commit record; None if the record does not tell."""
    deferred: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Task configurations whose commit record has not come yet."""

    def has_generation(self, generation: int) -> bool:
        """Whether this generation is the newest; not if the connector was deleted since, even if created anew."""
        created_anew = self.applied_properties is None
        return self.properties is not None and not created_anew and self.generation == generation


_UNKNOWN = ConnectorEntry()


@dataclass(frozen=True, slots=True)
class ConnectorChanges:
    """Which connectors have changed since some version of the log."""

    version: int
    """The version that they led to."""
    names: tuple[str, ...]
    """Each one once, in the order of their last changes; some may be deleted."""


class MalformedRecordError(ValueError):
    """A record of the config topic is malformed; it is skipped with an error in the log."""


class ConfigLog:
    """Applies the records of the config topic, as `KafkaConfigBackingStore.ConsumeCallback` does; not thread-safe."""

    def __init__(self) -> None:
        self._entries: dict[str, ConnectorEntry] = {}
        self._version = 0
        """Counts the changes of connectors."""
        self._changed: dict[str, int] = {}
        """By connector the version of its last change, in the order of these."""
        self.position = 0
        """The offset after the last record that was applied."""
        self.session_keys = SessionKeys()
        self.requests = RequestLog()

    def entry(self, connector: str) -> ConnectorEntry:
        """The state of a connector name."""
        return self._entries.get(connector, _UNKNOWN)

    def connectors(self) -> Mapping[str, ConnectorEntry]:
        """The state of every name in the log, also of those that are deleted."""
        return dict(self._entries)

    def changes_since(self, version: int) -> ConnectorChanges:
        """The connectors that have changed since a version, 0 for all; the work is in proportion to their number.

        So whoever looks again and again goes through what is new, however much there is.
        """
        names = [name for name, _ in takewhile(lambda one: one[1] > version, reversed(self._changed.items()))]
        return ConnectorChanges(self._version, tuple(reversed(names)))

    def apply(self, offset: int, key: bytes | None, value: bytes | None, writer: str | None = None) -> str | None:
        """Apply one record; return the reason if it was skipped."""
        self.position = max(self.position, offset + 1)
        try:
            if key == _SESSION_KEY:
                self.session_keys = self.session_keys.replaced_by(_session_key(value))
                return None
            # Requests are no state of a connector: a compacted topic keeps them, and a replay must not act on them
            # again.
            if (request := _request(key, value)) is not None:
                self.requests.add(offset, request)
                return None
            name, change = _read(key, value)
        except MalformedRecordError as why:
            return str(why)
        if change is not None:
            before = self.entry(name)
            after = change(before)
            applied = after.generation != before.generation
            self._entries[name] = replace(after, committed_by=writer) if applied else after
            self._version += 1
            self._changed.pop(name, None)  # to the end, since a dictionary keeps the order of its first insertions
            self._changed[name] = self._version
        return None


Change = Callable[[ConnectorEntry], ConnectorEntry]


def _read(key: bytes | None, value: bytes | None) -> tuple[str, Change | None]:
    text = _key_text(key)
    for prefix, reader in _READERS.items():
        if text.startswith(prefix):
            return reader(text.removeprefix(prefix), _json(text, value))
    raise MalformedRecordError(f"config record with unknown key {shown(text)}")


def _key_text(key: bytes | None) -> str:
    try:
        return (key or b"").decode()
    except UnicodeDecodeError:
        raise MalformedRecordError(f"config record whose key {shown(key)} is no UTF-8") from None


def _json(key: str, value: bytes | None) -> Mapping[str, Any] | None:
    if value is None:
        return None
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        raise MalformedRecordError(f"config record {shown(key)} whose value is no JSON") from None
    if read is not None and not isinstance(read, dict):
        raise MalformedRecordError(f"config record {shown(key)} whose value is no object")
    return read


def _connector(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change]:
    if value is None:
        return name, _delete
    properties = _properties(keys.CONNECTOR + name, value)
    return name, lambda old: replace(old, properties=properties)


def _delete(old: ConnectorEntry) -> ConnectorEntry:
    return replace(old, properties=None, tasks=(), applied_properties=None, inconsistent=False, deferred=_NOTHING)


def _task(name: str, value: Mapping[str, Any] | None) -> tuple[str, Change | None]:
    connector, dash, number = name.rpartition("-")
    if not dash or not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise MalformedRecordError(f"config record with unknown key {shown(keys.TASK + name)}")
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
    if old.properties is None:  # compaction leaves such records of a deleted connector (LOG-09)
        return replace(old, deferred=_NOTHING)
    # Compaction may leave tasks of earlier, larger generations: more than `count` are complete, fewer are not.
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
    # KIP-875: `state.v2` also knows STOPPED; `state` is what older workers write and read.
    newer = None if value is None else value.get("state.v2")
    state = keys.STARTED if value is None else newer if isinstance(newer, str) else value.get("state")
    if state not in keys.TARGET_STATES:
        raise MalformedRecordError(f"config record {keys.TARGET_STATE + name!r} without a known state")
    return name, lambda old: replace(old, target_state=state)


def _properties(key: str, value: Mapping[str, Any]) -> Mapping[str, str]:
    properties = value.get("properties")
    if not isinstance(properties, dict):
        raise MalformedRecordError(f"config record {key!r} without properties")
    return {str(name): text if isinstance(text, str) else json.dumps(text) for name, text in properties.items()}


def _count(key: str, value: Mapping[str, Any], field_name: str) -> int:
    count = value.get(field_name)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_TASKS:
        raise MalformedRecordError(f"config record {shown(key)} whose {field_name!r} is no count")
    return count


def _request(key: bytes | None, value: bytes | None) -> RestartRequest | LoggerLevelRequest | None:
    text = _key_text(key)
    if text.startswith(keys.RESTART):
        fields = _json(text, value)
        if fields is None:
            raise MalformedRecordError(f"config record {text!r} without a value")
        wanted = {name: fields.get(name) is True for name in ("only-failed", "include-tasks")}
        return RestartRequest(text.removeprefix(keys.RESTART), wanted["only-failed"], wanted["include-tasks"])
    if text.startswith(keys.LOGGER):
        level = (_json(text, value) or {}).get("level")
        if not isinstance(level, str):
            raise MalformedRecordError(f"config record {text!r} without a level")
        return LoggerLevelRequest(text.removeprefix(keys.LOGGER), level)
    return None


def _session_key(value: bytes | None) -> SessionKey:
    found = _json(keys.SESSION_KEY, value) or {}
    encoded, algorithm, created = (found.get(name) for name in ("key", "algorithm", "creation-timestamp"))
    try:
        key = base64.b64decode(encoded if isinstance(encoded, str) else "", validate=True)
    except ValueError:
        key = b""
    # Nothing of the value is shown: a part of it may be the key.
    if not key:
        raise MalformedRecordError(f"config record {keys.SESSION_KEY!r} whose 'key' is no secret in base64")
    if not isinstance(algorithm, str):
        raise MalformedRecordError(f"config record {keys.SESSION_KEY!r} whose 'algorithm' is no text")
    if not isinstance(created, int) or isinstance(created, bool):
        raise MalformedRecordError(f"config record {keys.SESSION_KEY!r} whose 'creation-timestamp' is no number")
    return SessionKey(key, algorithm, created)


Reader = Callable[[str, Mapping[str, Any] | None], tuple[str, Change | None]]
_READERS: Mapping[str, Reader] = {
    keys.CONNECTOR: _connector,
    keys.TASK: _task,
    keys.COMMIT: _commit,
    keys.TASK_COUNT: _task_count,
    keys.TASK_COUNT_IN_DRAFT: _task_count_in_draft,
    keys.TARGET_STATE: _target_state,
}
