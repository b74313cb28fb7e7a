"""Records of the topic through which the workers of a group agree (the place of Kafka Connect's `ConnectProtocol`).

`worker-NAME` is what a worker says of itself, `assignment` is what the leader says to all. Values are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from eosfw.ids import ConnectorTaskId
from eosfw.state.group.assignment import ClusterAssignment, LostTask, RevokedTask, WorkerShare
from eosfw.state.storage.config_records import ConfigRecord
from eosfw.text import shown

ASSIGNMENT = "assignment"
WORKER = "worker-"


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """What a worker says of itself (Kafka Connect's `WorkerState`)."""

    name: str
    url: str | None
    support: str
    """Its `exactly.once.source.support`."""
    version: str
    acknowledged: int
    """The newest assignment whose revocations it has carried out."""


class MembersLog:
    """Applies the records of the members topic; not thread-safe."""

    def __init__(self) -> None:
        self.workers: dict[str, WorkerRecord] = {}
        """By name, also workers that are gone."""
        self.assignment = ClusterAssignment()
        """The newest one."""

    def apply(self, key: bytes | None, value: bytes | None) -> str | None:
        """Apply one record; return the reason if it was skipped."""
        text = (key or b"").decode(errors="replace")
        try:
            self._apply(text, value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as why:
            return f"record {shown(text)} that cannot be understood ({type(why).__name__}: {why})"
        return None

    def _apply(self, key: str, value: bytes | None) -> None:
        if key == ASSIGNMENT:
            self.assignment = ClusterAssignment() if value is None else _assignment(json.loads(value))
        elif not key.startswith(WORKER):
            raise ValueError("its key is unknown")
        elif value is None:
            self.workers.pop(key.removeprefix(WORKER), None)
        else:
            self.workers[key.removeprefix(WORKER)] = _worker(key.removeprefix(WORKER), json.loads(value))


def worker_record(worker: WorkerRecord) -> ConfigRecord:
    """The record of a worker."""
    fields = asdict(worker)
    return _record(WORKER + fields.pop("name"), fields)


def worker_removal(name: str) -> ConfigRecord:
    """The record that forgets a worker."""
    return ConfigRecord(f"{WORKER}{name}".encode(), None)


def assignment_record(assignment: ClusterAssignment) -> ConfigRecord:
    """The record of an assignment."""
    shares = {
        name: {"url": share.url, "tasks": _by_connector(share.tasks)} for name, share in assignment.workers.items()
    }
    fields = {
        "number": assignment.number,
        "leader": assignment.leader,
        "protocol": assignment.protocol,
        "workers": shares,
        "revoked": [{"task": list(task), **asdict(one)} for task, one in sorted(assignment.revoked.items())],
        "lost": [{"task": list(task), **asdict(one)} for task, one in sorted(assignment.lost.items())],
    }
    return _record(ASSIGNMENT, fields)


def _by_connector(tasks: Collection[ConnectorTaskId]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for task in sorted(tasks):
        found.setdefault(task.connector, []).append(task.task)
    return found


def _worker(name: str, fields: Mapping[str, Any]) -> WorkerRecord:
    return WorkerRecord(
        name, _url(fields), str(fields["support"]), str(fields["version"]), _number(fields, "acknowledged")
    )


def _assignment(fields: Mapping[str, Any]) -> ClusterAssignment:
    return ClusterAssignment(
        number=_number(fields, "number"),
        leader=str(fields["leader"]),
        protocol=str(fields["protocol"]),
        workers={str(name): _share(share) for name, share in fields["workers"].items()},
        revoked={
            _task(one): RevokedTask(str(one["worker"]), _number(one, "number"), _number(one, "until"))
            for one in fields["revoked"]
        },
        lost={_task(one): LostTask(str(one["worker"]), _url(one), _number(one, "until")) for one in fields["lost"]},
    )


def _share(fields: Mapping[str, Any]) -> WorkerShare:
    tasks = (ConnectorTaskId(str(name), int(one)) for name, numbers in fields["tasks"].items() for one in numbers)
    return WorkerShare(_url(fields), frozenset(tasks))


def _task(fields: Mapping[str, Any]) -> ConnectorTaskId:
    connector, number = fields["task"]
    return ConnectorTaskId(str(connector), int(number))


def _url(fields: Mapping[str, Any]) -> str | None:
    url = fields["url"]
    return None if url is None else str(url)


def _number(fields: Mapping[str, Any], name: str) -> int:
    number = fields[name]
    if not isinstance(number, int):
        raise TypeError(f"{name!r} is no number")
    return number


def _record(key: str, fields: Mapping[str, object]) -> ConfigRecord:
    return ConfigRecord(key.encode(), json.dumps(fields, separators=(",", ":")).encode())
