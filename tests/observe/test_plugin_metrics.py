"""Plugins measure themselves (KIP-877): by task, or by connector, and each by the property that chose it."""

from __future__ import annotations

import threading

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric, PluginMetricsRegistry
from eosfw.plugin_metrics import PluginMetrics

TASK = ConnectorTaskId("orders", 1)
LABELS = {"connector": "orders", "task": "1", "plugin": "transforms.mask"}


@pytest.fixture
def registry() -> PluginMetricsRegistry:
    return PluginMetricsRegistry(ThreadRuntime())


@pytest.fixture
def mask(registry: PluginMetricsRegistry) -> PluginMetrics:
    """The metrics of a transformation of a task."""
    return registry.of_task(TASK).of("transforms.mask")


def test_counters_and_gauges_have_the_labels_of_their_task_and_plugin(
    registry: PluginMetricsRegistry, mask: PluginMetrics
) -> None:
    """PLG-08: in Kafka's group `plugins`; a counter is named as one."""
    masked = mask.counter("masked", "fields that were masked", {"field": "email"})
    masked.add()
    masked.add(2)
    mask.counter("masked-total", labels={"field": "name"})
    mask.gauge("cached", "rows in memory").set(4)
    size = [7]
    mask.gauge("size", read=lambda: size[0])

    assert registry.metrics({TASK}) == [
        Metric("plugins", "masked-total", 3, {**LABELS, "field": "email"}, "fields that were masked"),
        Metric("plugins", "masked-total", 0, {**LABELS, "field": "name"}),
        Metric("plugins", "cached", 4, LABELS, "rows in memory"),
        Metric("plugins", "size", 7, LABELS),
    ]
    size[0] = 8
    assert mask.counter("masked", labels={"field": "email"}) is masked
    assert registry.metrics({TASK})[-1].value == 8


@pytest.mark.parametrize(
    ("name", "labels", "why"),
    [
        ("rows per s", {}, "cannot name a metric"),
        ("", {}, "cannot name a metric"),
        ("rows", {"task": "7"}, "cannot name a label"),
        ("rows", {"a-b": "7"}, "cannot name a label"),
    ],
)
def test_a_name_that_prometheus_cannot_show_is_refused(
    mask: PluginMetrics, name: str, labels: dict[str, str], why: str
) -> None:
    """PLG-08: where it is registered, not when somebody looks."""
    for register in (mask.counter, mask.gauge):
        with pytest.raises(ValueError, match=why):
            register(name, labels=labels)


def test_a_counter_never_falls_and_no_gauge_is_named_like_one(mask: PluginMetrics) -> None:
    """PLG-08: Prometheus takes what ends in total for a counter."""
    with pytest.raises(ValueError, match="never falls"):
        mask.counter("rows").add(-1)
    with pytest.raises(ValueError, match="does not end in -total"):
        mask.gauge("rows-total")


def test_a_gauge_that_cannot_be_read_is_left_out(registry: PluginMetricsRegistry, mask: PluginMetrics) -> None:
    """PLG-08: the others are shown all the same."""
    mask.gauge("broken", read=lambda: 1 / 0)
    mask.gauge("sound").set(1)

    assert [metric.name for metric in registry.metrics({TASK})] == ["sound"]


def test_an_ended_task_keeps_its_last_values_until_the_worker_forgets_it(registry: PluginMetricsRegistry) -> None:
    """PLG-08: the last report of a run has them; the plugin itself is let go, and is asked no more."""
    reads: list[int] = []
    owner = registry.of_task(TASK)
    owner.of("task").gauge("rows", read=lambda: reads.append(1) or 5)  # type: ignore[func-returns-value]
    owner.close()

    assert [metric.value for metric in registry.metrics({TASK})] == [5]
    assert len(reads) == 1
    assert registry.metrics(set()) == []
    assert registry.metrics({TASK}) == []


def test_a_zombie_is_not_measured_beside_its_successor(registry: PluginMetricsRegistry) -> None:
    """PLG-08: two values with the same labels would be no answer."""
    zombie = registry.of_task(TASK)
    zombie.of("task").gauge("rows").set(1)
    registry.of_task(TASK).of("task").gauge("rows").set(2)
    zombie.of("task").gauge("rows").set(3)
    zombie.close()

    assert [metric.value for metric in registry.metrics({TASK})] == [2]


def test_a_connector_is_measured_while_it_watches(registry: PluginMetricsRegistry) -> None:
    """PLG-08: with an empty label for the task, since a family has one set of labels."""
    owner = registry.of_connector("orders")
    owner.of("connector").gauge("tables").set(3)

    assert registry.metrics(set()) == [
        Metric("plugins", "tables", 3, {"connector": "orders", "task": "", "plugin": "connector"})
    ]
    owner.close()
    assert registry.metrics(set()) == []


def test_no_count_of_several_threads_is_lost(registry: PluginMetricsRegistry, mask: PluginMetrics) -> None:
    """PLG-08: a plugin may work with threads of its own."""
    counter = mask.counter("rows")
    threads = [threading.Thread(target=lambda: [counter.add() for _ in range(2_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert registry.metrics({TASK})[0].value == 8_000
