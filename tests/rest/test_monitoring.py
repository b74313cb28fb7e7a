"""The alerts and the dashboard of `deploy/prometheus` ask for what workers serve."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry, ProcessCollector

from eosfw.observe import exported

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
ALERTS = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))
TRIALS = yaml.safe_load((FOLDER / "alerts-test.yaml").read_text(encoding="utf-8"))
BOARD = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds."""
SLOTS = {"connector", "task", "plugin"}
OTHERS = {
    "up": frozenset(SCRAPED),
    "kafka_connect_plugins_slot_lag_bytes": frozenset(SLOTS),
    "kafka_connect_plugins_slot_retained_bytes": frozenset(SLOTS),
}
"""What Prometheus itself and the connector of PostgreSQL have: tests/postgres/test_slot_lag.py shows the latter."""


class Question(NamedTuple):
    """An expression and where it is."""

    where: str
    expression: str


def questions() -> Iterator[Question]:
    """Everything that is asked of Prometheus, with what Grafana puts in for its variables."""
    for rule in RULES:
        yield Question(rule["alert"], rule["expr"])
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield Question(panel["title"], target["expr"].replace("$__rate_interval", "1m"))
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            (asked,) = re.findall(r"label_values\((.*), \w+\)", variable["query"]["query"])
            yield Question(variable["name"], asked)


RULES: list[dict[str, Any]] = [rule for group in ALERTS["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def served() -> Mapping[str, frozenset[str]]:
    """The labels of everything that a worker serves, by name."""
    measured = runpy.run_path(str(ROOT / "docs" / "reference" / "metrics_page.py"))["measured"]()
    own = {one.name: frozenset(one.labels) for one in map(exported, measured)}
    process = {
        sample.name: frozenset[str]()
        for family in ProcessCollector(registry=CollectorRegistry()).collect()
        for sample in family.samples
    }
    return {**own, **process, **OTHERS}


@pytest.mark.parametrize("question", list(questions()), ids=lambda one: one.where)
def test_every_expression_asks_for_metrics_and_labels_that_are_served(
    question: Question, served: Mapping[str, frozenset[str]]
) -> None:
    """MET-03: PromQL's own grammar reads it, and no name is misspelt, which Prometheus would take for no data."""
    selectors = list(_selectors(promql_parser.parse(question.expression)))

    assert selectors
    for selector in selectors:
        assert selector.name in served
        labels = {one.name for one in selector.matchers.matchers}
        assert labels <= served[selector.name] | SCRAPED


def _selectors(expression: Any) -> Iterator[Any]:
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression
    for name in ("expr", "lhs", "rhs", "vector_selector", "selector", "param"):
        child = getattr(expression, name, None)
        if isinstance(child, promql_parser.Expr | promql_parser.VectorSelector):
            yield from _selectors(child)
    for child in getattr(expression, "args", ()):
        yield from _selectors(child)


def test_every_alert_says_what_it_is_about() -> None:
    """MET-03: by names that its expression keeps."""
    assert len({rule["alert"] for rule in RULES}) == len(RULES) > 10
    for rule in RULES:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_every_panel_has_a_place_of_its_own() -> None:
    """A dashboard that overlaps is rearranged by Grafana in its own way."""
    places = [one["gridPos"] for one in BOARD["panels"]]
    covered = [
        (x, y)
        for one in places
        for x in range(one["x"], one["x"] + one["w"])
        for y in range(one["y"], one["y"] + one["h"])
    ]

    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) < 24
    assert len({one["id"] for one in BOARD["panels"]}) == len(places)


def test_the_alerts_are_tried_on_series_that_workers_serve(served: Mapping[str, frozenset[str]]) -> None:
    """MET-03: Prometheus's own tool raises each when `alerts-test.yaml` says, where it is installed."""
    # No skip where it is not: no package index has it, and what else is wrong with the files the tests above find.
    if promtool := shutil.which("promtool"):
        for arguments in (("check", "config", "prometheus.yaml"), ("test", "rules", "alerts-test.yaml")):
            done = subprocess.run([promtool, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = TRIALS["tests"]
    for series in trial["input_series"]:
        selector = promql_parser.parse(series["series"])
        assert {one.name for one in selector.matchers.matchers} <= served[selector.name] | SCRAPED
    raised = re.findall(r'alertname="(\w+)"', (FOLDER / "alerts-test.yaml").read_text(encoding="utf-8"))
    assert set(raised) <= {rule["alert"] for rule in RULES}
