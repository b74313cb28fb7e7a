"""Plugins of a test, and an embedded cluster to run against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eosfw import (
    ConfigDef,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    Int,
    SourceBatch,
    SourceConnector,
    SourceRecord,
    SourceTask,
    String,
)
from eosfw.errors import Problem
from eosfw.pipeline import ClusterChoice, Pipeline
from eosfw.registry import Plugins, load_plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin


class NumbersTask(SourceTask):
    """The numbers up to `records`, three a poll."""

    def start(self, config: Any, context: Any) -> None:
        self.columns = config["columns"] == "yes"
        self.topic, self.records = config["topic"], int(config["records"])
        self.partition, self.context = {"from": "one"}, context
        self.next = (context.offset(self.partition) or {"next": 0})["next"]

    def poll(self) -> Any:
        upto = min(self.next + 3, self.records)
        numbers, self.next = range(self.next + 1, upto + 1), upto
        if self.columns and numbers:
            return SourceBatch(self.topic, [b'{"n":%d}' % n for n in numbers], self.partition, {"next": upto})
        return [
            SourceRecord(self.topic, b'{"n":%d}' % n, source_partition=self.partition, source_offset={"next": n})
            for n in numbers
        ]

    def at_end(self) -> bool:
        return self.next >= self.records


class Numbers(SourceConnector):
    """Reports the properties and problems that its configuration names."""

    name, task = "numbers", NumbersTask
    config = ConfigDef(
        String("topic"),
        Int("records", default=10),
        String("support", default="yes"),
        String("bounds", default="no"),
        String("columns", default="no"),
    )

    def problems(self, config: Any) -> Sequence[Problem]:
        return [Problem("topic", "is cursed")] if config["topic"] == "cursed" else []

    def task_configs(self, config: Any, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{name: str(config[name]) for name in ("topic", "records", "columns")}]

    def exactly_once_support(self, config: Any) -> ExactlyOnceSupport | None:
        return _answer(config["support"], ExactlyOnceSupport)

    def transaction_boundaries(self, config: Any) -> ConnectorTransactionBoundaries | None:
        return _answer(config["bounds"], ConnectorTransactionBoundaries)


def _answer(text: str, kind: Any) -> Any:
    if text == "raise":
        raise RuntimeError("I would rather not say")
    return {"yes": kind.SUPPORTED, "no": kind.UNSUPPORTED, "unsaid": None}[text]


@pytest.fixture(scope="session")
def plugins() -> Plugins:
    """What is installed, with the numbers connector."""
    installed = load_plugins()
    return Plugins(
        (*installed._found, RegisteredPlugin("connector", Numbers, PluginSource("test", "1", "test"))),
        installed.failures,
    )


@pytest.fixture
def pipeline(embedded: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Pipeline]:
    """A pipeline of one numbers connector on the shared embedded cluster; group and topic are the test's own."""
    own = f"{abs(hash(request.node.nodeid)):x}"

    def make(*, address: str | None = None, backend: str = "confluent", **properties: str) -> Pipeline:
        given = {"connector.class": "numbers", "topic": f"numbers-{own}"}
        given |= {name.replace("_", "."): text for name, text in properties.items()}
        return Pipeline(
            path=tmp_path / "flow.toml",
            cluster=ClusterChoice(backend, {"bootstrap.servers": address or embedded}),
            worker={"group.id": f"group-{own}", "exactly.once.source.support": "enabled"},
            connectors={"c": given},
        )

    return make
