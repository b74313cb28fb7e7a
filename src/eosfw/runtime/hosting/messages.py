"""Statuses, errors and specifications as plain values, for messages between a worker and its tasks' processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from eosfw import errors
from eosfw.connectors import SourceProgress
from eosfw.errors import ConfigError, EosfwError, ExitCode, Problem, described
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric
from eosfw.runtime.status import ErrorHandlingMetrics, Notice, PollFailures, TaskState, TaskStatus
from eosfw.state.steps import TaskStep


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedTaskSpec:
    """What the process of a task is started with: plain values, of which some may be secrets."""

    address: tuple[str, int]
    """Where the worker listens."""
    key: str = field(repr=False)
    """What both sides of the connection know, in hexadecimal."""
    worker: str
    """The worker's name, which stands on its commits in the config topic."""
    connector: str
    task: int
    generation: int
    """By the worker's count."""
    backend: str
    cluster: Mapping[str, str] = field(repr=False)
    """Client properties, references to config providers as they were written."""
    properties: Mapping[str, str] = field(repr=False)
    """Of the worker."""
    max_transaction_timeout: float | None
    folder: str
    """Where the worker stands: relative paths start there, if the process has that folder, too."""

    @property
    def id(self) -> ConnectorTaskId:
        """Which task it is."""
        return ConnectorTaskId(self.connector, self.task)

    def to_json(self) -> str:
        """The specification as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> HostedTaskSpec:
        """The specification of a text that `to_json` made."""
        given = json.loads(text)
        return cls(**{**given, "address": tuple(given["address"])})


def error_to_json(error: BaseException) -> dict[str, Any]:
    """An error as plain values."""
    code = error.exit_code if isinstance(error, EosfwError) else EosfwError.exit_code
    cause = None if error.__cause__ is None else error_to_json(error.__cause__)
    # Classes that every process knows, the nearest first: a plugin's own error may be unknown to the other side.
    bases = [one.__name__ for one in type(error).__mro__ if getattr(errors, one.__name__, None) is one]
    return {"bases": bases, "text": described(error), "exit_code": int(code), "cause": cause}


def error_from_json(given: Mapping[str, Any]) -> EosfwError:
    """An error of the nearest class that this process knows, with the same text and exit code."""
    name = next((one for one in given["bases"] if one not in _NEED_MORE), "EosfwError")
    text = given["text"]
    kind: type[EosfwError] = getattr(errors, name)
    error = ConfigError(Problem("", text)) if kind is ConfigError else kind(text)
    error.exit_code = ExitCode(given["exit_code"])
    error.__cause__ = None if given["cause"] is None else error_from_json(given["cause"])
    return error


_NEED_MORE: Final = ("RequestRefusedError", "NotLeaderError", "NotAssignedError")
"""Errors that need more than a text; another worker of a group raises them, not the one that hosts."""


def status_to_json(status: TaskStatus) -> dict[str, Any]:
    """A status as plain values."""
    values = {name: getattr(status, name) for name in _PLAIN}
    return {
        **values,
        "state": status.state.value,
        "step": None if status.step is None else status.step.value,
        "error": None if status.error is None else error_to_json(status.error),
        "notices": [[one.kind, one.text, one.count] for one in status.notices],
        "progress": None if status.progress is None else asdict(status.progress),
        "poll_failures": None if status.poll_failures is None else asdict(status.poll_failures),
        "error_handling": asdict(status.error_handling),
    }


_PLAIN: Final = (
    "trace",
    "waiting",
    "superseded",
    "records",
    "transactions",
    "at_end",
    "idle_since",
    "open_records",
    "offset_backup_failures",
)


def status_from_json(given: Mapping[str, Any], task: ConnectorTaskId, generation: int) -> TaskStatus:
    """The status of a task, as its process said it."""
    return TaskStatus(
        task,
        generation,
        TaskState(given["state"]),
        step=None if given["step"] is None else TaskStep(given["step"]),
        error=None if given["error"] is None else error_from_json(given["error"]),
        notices=tuple(Notice(*one) for one in given["notices"]),
        progress=None if given["progress"] is None else SourceProgress(**given["progress"]),
        poll_failures=None if given["poll_failures"] is None else PollFailures(**given["poll_failures"]),
        error_handling=ErrorHandlingMetrics(**given["error_handling"]),
        **{name: given[name] for name in _PLAIN},
    )


def metrics_to_json(metrics: Sequence[Metric]) -> list[list[Any]]:
    """The metrics of plugins as plain values."""
    return [[one.group, one.name, one.value, dict(one.labels), one.doc] for one in metrics]


def metrics_from_json(given: Sequence[Sequence[Any]], task: ConnectorTaskId) -> list[Metric]:
    """The metrics of a task's plugins, as its process said them; it speaks for no other task."""
    own = {"connector": task.connector, "task": str(task.task)}
    return [Metric(group, name, float(value), {**labels, **own}, doc) for group, name, value, labels, doc in given]


def with_earlier(newest: TaskStatus, earlier: Sequence[TaskStatus]) -> TaskStatus:
    """The status of a task with what its earlier processes have done."""
    return replace(
        newest,
        records=newest.records + sum(one.records for one in earlier),
        transactions=newest.transactions + sum(one.transactions for one in earlier),
        offset_backup_failures=newest.offset_backup_failures + sum(one.offset_backup_failures for one in earlier),
        notices=newest.notices + tuple(notice for one in earlier for notice in one.notices),
        error_handling=_summed([newest.error_handling, *(one.error_handling for one in earlier)]),
    )


def _summed(metrics: Sequence[ErrorHandlingMetrics]) -> ErrorHandlingMetrics:
    names = [one.name for one in fields(ErrorHandlingMetrics) if one.name != "last_error"]
    counts = {name: sum(getattr(one, name) for one in metrics) for name in names}
    times = [one.last_error for one in metrics if one.last_error is not None]
    return ErrorHandlingMetrics(**counts, last_error=max(times, default=None))
