"""The metrics of plugins in this process (Kafka's `PluginMetricsImpl`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from eosfw.concurrency import Runtime
from eosfw.ids import ConnectorTaskId
from eosfw.plugin_metrics import PluginMetrics
from eosfw.state.tasks.metrics import Metric

logger = logging.getLogger(__name__)

GROUP = "plugins"
"""As in Kafka."""
_OWN_LABELS = ("connector", "task", "plugin")
_TOTAL = "-total"
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_LABEL = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_Lock = AbstractContextManager[object]
_Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(slots=True)
class _Value:
    """A counter or gauge."""

    lock: _Lock
    labels: Mapping[str, str]
    doc: str
    value: float = 0.0
    read: Callable[[], float] | None = None

    def add(self, amount: float = 1) -> None:
        if amount < 0:
            raise ValueError(f"a counter never falls: {amount!r} cannot be added")
        with self.lock:
            self.value += amount

    def set(self, value: float) -> None:
        self.value = float(value)

    def now(self) -> float | None:
        """The value; None if it could not be read."""
        read = self.read
        if read is None:
            return self.value
        try:
            self.value = float(read())
        except Exception:
            logger.debug("a metric could not be read", exc_info=True)
            return None
        return self.value


@dataclass(slots=True)
class OwnerMetrics:
    """The metrics of all plugins of one task, or of one connector, until it is closed."""

    labels: Mapping[str, str]
    _lock: _Lock
    """Guards `_values` and each counter; a plugin that is read is called outside of it."""
    _values: dict[_Key, _Value] = field(default_factory=dict)
    ended: bool = False

    def of(self, plugin: str) -> PluginMetrics:
        """Those of one plugin, by the property that chose it, such as `transforms.mask`, or `task`."""
        return _OnePlugin(self, plugin)

    def value(self, name: str, labels: Mapping[str, str], doc: str, read: Callable[[], float] | None = None) -> _Value:
        """The metric of a name and labels, which is made if it is new."""
        with self._lock:
            known = self._values.setdefault((name, frozenset(labels.items())), _Value(self._lock, labels, doc))
            known.read = None if self.ended else read or known.read
            return known

    def metrics(self) -> list[Metric]:
        """The values now."""
        with self._lock:
            values = dict(self._values)
        found = [(name, one, one.now()) for (name, _), one in values.items()]
        return [Metric(GROUP, name, value, one.labels, one.doc) for name, one, value in found if value is not None]

    def close(self) -> None:
        """Keep the last values, and nothing of the plugins."""
        with self._lock:
            values, self.ended = list(self._values.values()), True
        for one in values:
            one.now()
            one.read = None


@dataclass(frozen=True, slots=True)
class _OnePlugin:
    _owner: OwnerMetrics
    _plugin: str

    def counter(self, name: str, doc: str = "", labels: Mapping[str, str] | None = None) -> _Value:
        return self._owner.value(name.removesuffix(_TOTAL) + _TOTAL, self._labels(name, labels), doc)

    def gauge(
        self,
        name: str,
        doc: str = "",
        labels: Mapping[str, str] | None = None,
        *,
        read: Callable[[], float] | None = None,
    ) -> _Value:
        if name.endswith(_TOTAL):
            raise ValueError(f"the name of a gauge does not end in {_TOTAL}, as {name!r} does: that of a counter does")
        return self._owner.value(name, self._labels(name, labels), doc, read)

    def _labels(self, name: str, labels: Mapping[str, str] | None) -> dict[str, str]:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a metric: it may have letters, digits, '-' and '_'")
        for label in labels or ():
            if label in _OWN_LABELS or not _LABEL.fullmatch(label):
                raise ValueError(
                    f"{label!r} cannot name a label: it may have letters, digits and '_', and is not "
                    f"{', '.join(_OWN_LABELS)}"
                )
        return {
            **self._owner.labels,
            "plugin": self._plugin,
            **{one: str(text) for one, text in (labels or {}).items()},
        }


@dataclass(frozen=True, slots=True)
class _HostedMetrics:
    """What the process of a task said of its plugins last."""

    values: Sequence[Metric]
    ended: bool = True
    """Nothing of it is kept once the worker has the task no more."""

    def metrics(self) -> Sequence[Metric]:
        return self.values


def unread_metrics() -> PluginMetrics:
    """Metrics at which nobody looks, for a task that runs without a worker."""
    return OwnerMetrics({}, nullcontext()).of("task")


class PluginMetricsRegistry:
    """The metrics of plugins of all tasks and connectors of a worker; thread-safe.

    Of each task the newest start is measured: a zombie's values are not its successor's.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._owners: dict[ConnectorTaskId | str, OwnerMetrics | _HostedMetrics] = {}

    def of_task(self, task: ConnectorTaskId) -> OwnerMetrics:
        """Those of a task that starts."""
        return self._of(task, {"connector": task.connector, "task": str(task.task)})

    def of_connector(self, name: str) -> OwnerMetrics:
        """Those of a connector that starts."""
        return self._of(name, {"connector": name, "task": ""})

    def of_hosted_task(self, task: ConnectorTaskId, values: Sequence[Metric]) -> None:
        """Take the values of a task that runs in another process."""
        with self._lock:
            self._owners[task] = _HostedMetrics(values)

    def _of(self, key: ConnectorTaskId | str, labels: Mapping[str, str]) -> OwnerMetrics:
        made = OwnerMetrics(labels, self._runtime.lock())
        with self._lock:
            self._owners[key] = made
        return made

    def metrics(self, tasks: Container[ConnectorTaskId]) -> list[Metric]:
        """The values of these tasks, and of the connectors that run; of other tasks that have ended nothing is kept."""
        with self._lock:
            self._owners = {key: one for key, one in self._owners.items() if key in tasks or not one.ended}
            owners = [one for key, one in self._owners.items() if isinstance(key, str) or key in tasks]
        return [metric for one in owners for metric in one.metrics()]
