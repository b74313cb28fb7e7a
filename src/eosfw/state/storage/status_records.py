"""Records of the status topic, and their fold, with the bytes of Kafka Connect (`KafkaStatusBackingStore`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from eosfw.ids import ConnectorTaskId
from eosfw.text import shown

_CONNECTOR = "status-connector-"
_TASK = "status-task-"
_TOPIC = "status-topic-"
_SEPARATOR = ":connector-"
_STATES = ("UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "DESTROYED", "RESTARTING", "STOPPED")


@dataclass(frozen=True, slots=True)
class ReportedStatus:
    """The state of a connector or task, as a worker reported it (`AbstractStatus`)."""

    state: str
    worker_id: str
    """The worker's HOST:PORT."""
    generation: int
    """The generation of the worker group, not that of the connector's tasks."""
    trace: str | None = None
    version: str | None = None
    """The version of the connector (KIP-891)."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic that a connector has written to, and the task that was first to do so (KIP-558)."""

    topic: str
    connector: str
    task: int
    discovered: int
    """In milliseconds since 1970."""


class StatusRecord(NamedTuple):
    """Key and value of a record."""

    key: bytes
    value: bytes | None


def connector_status_record(name: str, status: ReportedStatus | None) -> StatusRecord:
    """The record of a connector's state; None deletes it."""
    return StatusRecord(f"{_CONNECTOR}{name}".encode(), _status_value(status))


def task_status_record(task: ConnectorTaskId, status: ReportedStatus | None) -> StatusRecord:
    """The record of a task's state; None deletes it."""
    return StatusRecord(f"{_TASK}{task}".encode(), _status_value(status))


def topic_status_record(status: TopicStatus) -> StatusRecord:
    """The record of a topic that a connector uses."""
    fields = {
        "name": status.topic,
        "connector": status.connector,
        "task": status.task,
        "discoverTimestamp": status.discovered,
    }
    return StatusRecord(_topic_key(status.connector, status.topic), _json({"topic": fields}))


def topic_removal_record(connector: str, topic: str) -> StatusRecord:
    """The record that forgets a topic of a connector."""
    return StatusRecord(_topic_key(connector, topic), None)


def may_replace(known: ReportedStatus | None, new: ReportedStatus) -> bool:
    """Whether a report that its worker may make too late can be written (`CacheEntry.canWriteSafely`; SCN-07).

    A worker that has lost a task must not overwrite what the task's new owner has reported since.
    """
    if known is None or known.worker_id == new.worker_id:
        return True
    return not _gives_up_anothers(known, new) and known.generation <= new.generation


def _gives_up_anothers(known: ReportedStatus, new: ReportedStatus) -> bool:
    """Whether a worker reports that it has given up what runs in another one.

    Of any generation: the group may have come to a newer one since the new owner has reported.
    """
    return (known.state, new.state) == ("RUNNING", "UNASSIGNED") and known.worker_id != new.worker_id


class StatusLog:
    """The newest state of each connector, task and topic, by the status topic; not thread-safe."""

    def __init__(self) -> None:
        self.connectors: dict[str, ReportedStatus] = {}
        self.tasks: dict[str, dict[ConnectorTaskId, ReportedStatus]] = {}
        """By connector, as all that is asked for is about one."""
        self.topics: dict[str, dict[str, TopicStatus]] = {}
        """By connector, then by topic."""
        self._changed: set[str] = set()

    def take_changed(self) -> frozenset[str]:
        """The connectors with a record about them or their tasks since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def apply(self, key: bytes | None, value: bytes | None) -> str | None:
        """Apply one record; return the reason if it was skipped."""
        try:
            self._apply((key or b"").decode(), None if value is None else json.loads(value))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return f"malformed status record {shown(key)}"
        return None

    def _apply(self, key: str, value: Any) -> None:
        if key.startswith(_CONNECTOR):
            self._apply_connector(key.removeprefix(_CONNECTOR), value)
        elif key.startswith(_TASK):
            name, _, number = key.removeprefix(_TASK).rpartition("-")
            self._apply_task(ConnectorTaskId(_not_empty(name), int(number)), value)
        elif key.startswith(_TOPIC):
            topic, _, connector = key.removeprefix(_TOPIC).partition(_SEPARATOR)
            self._apply_topic(_not_empty(connector), _not_empty(topic), value)
        else:
            raise ValueError(key)

    def _apply_connector(self, name: str, value: Any) -> None:
        self._changed.add(name)
        if value is not None:
            self.connectors[_not_empty(name)] = _status(value)
            return
        # Tasks have tombstones of their own. They may be in other partitions, of which newer records were read before.
        self.connectors.pop(name, None)

    def _apply_task(self, task: ConnectorTaskId, value: Any) -> None:
        self._changed.add(task.connector)
        if value is None:
            _forget(self.tasks, task.connector, task)
            return
        new, known = _status(value), self.tasks.get(task.connector, {}).get(task)
        # A worker that gives a task up may report that after the new owner, or it again, has started it.
        again = known is not None and known.state == "RUNNING" and known.generation >= new.generation
        late = known is not None and _gives_up_anothers(known, new)
        if not late and not (new.state == "UNASSIGNED" and again):
            self.tasks.setdefault(task.connector, {})[task] = new

    def _apply_topic(self, connector: str, topic: str, value: Any) -> None:
        if value is None:
            _forget(self.topics, connector, topic)
            return
        fields = value["topic"]
        self.topics.setdefault(connector, {})[topic] = TopicStatus(
            str(fields["name"]), str(fields["connector"]), int(fields["task"]), int(fields["discoverTimestamp"])
        )


def _forget(known: dict[str, dict[Any, Any]], connector: str, one: object) -> None:
    of_connector = known.get(connector, {})
    of_connector.pop(one, None)
    if not of_connector:
        known.pop(connector, None)


def _topic_key(connector: str, topic: str) -> bytes:
    return f"{_TOPIC}{topic}{_SEPARATOR}{connector}".encode()


def _status_value(status: ReportedStatus | None) -> bytes | None:
    if status is None:
        return None
    fields = {
        "state": status.state,
        "trace": status.trace,
        "worker_id": status.worker_id,
        "generation": status.generation,
        "version": status.version,
    }
    return _json(fields)


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _status(value: Mapping[str, Any]) -> ReportedStatus:
    state, trace, version = value["state"], value.get("trace"), value.get("version")
    if state not in _STATES or not isinstance(trace, str | None) or not isinstance(version, str | None):
        raise ValueError(state)
    return ReportedStatus(state, str(value["worker_id"]), int(value["generation"]), trace, version)


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("empty name")
    return text
