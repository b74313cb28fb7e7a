"""Write docs/reference/metrics.md: what a worker serves at /metrics; a test finds the page out of date."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from eosfw.observe import ExportedMetric, Metric, exported
from eosfw.registry import load_plugins
from pytest_eos.environment.clusters.cluster import virtual
from pytest_eos.runs.groups.herders import HerderGroup

PAGE = Path(__file__).with_name("metrics.md")
TABLE = Path(__file__).with_name("metrics.toml")
RECORDED = Path(__file__).parents[2] / "tests" / "rest" / "connect_metrics.json"
HEAD = """# Metrics

What a worker serves at `/metrics`, in the text format of Prometheus. Names and labels are those that the Prometheus JMX
exporter gives to a worker of Kafka Connect by its `examples/kafka-connect.yml`, so dashboards made for it work here.
[Observe a worker group](../how-to/observe-a-worker-group.md) tells what to look at. This page is made by
`python docs/reference/metrics_page.py` from what a worker serves; a test compares it with a recording of Kafka Connect
4.1.1 under that exporter.

The exporter calls everything a gauge. Here, names that end in `_total` are counters: since its version 1.0 it serves
such names for counters alone. Averages, extremes and percentages are since the start of a task; percentages are from 0
to 1, as in Kafka Connect. What is `own` Kafka Connect does not have, or the exporter's rules leave it out.

Besides these there are `kafka_connect_plugins_*`, which [connectors and their parts
define](../how-to/write-a-part.md), and what Prometheus's client measures of every process (`process_*`).
"""
LACKING = """## Not served

What the exporter serves of Kafka Connect, and a worker does not.

| name | why |
|---|---|"""


def page() -> str:
    """The whole page."""
    lacking = ("| `{}` | {} |".format(name.replace("|", "\\|"), why) for name, why in not_served().items())
    return "\n".join([HEAD, *_served(), LACKING, *lacking, ""])


def not_served() -> Mapping[str, str]:
    """Patterns of names that the exporter serves of Kafka Connect and a worker does not, with the reason."""
    found: Mapping[str, str] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["not_served"]
    return found


def recorded() -> list[dict[str, object]]:
    """What the exporter has served of Kafka Connect."""
    found: list[dict[str, object]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def measured() -> list[Metric]:
    """What a worker with one task measures."""
    with tempfile.TemporaryDirectory() as folder, virtual(1) as cluster:
        lines = Path(folder, "lines.txt")
        lines.write_text("one\n")
        with HerderGroup(cluster, load_plugins(), "g") as group:
            herder = group.start()
            config = {"connector.class": "file", "file": str(lines), "topic": "lines"}
            herder.put_connector("lines", config)
            group.until(lambda: any(one.name == "transactions-total" for one in herder.metrics()), "a transaction")
            return list(herder.metrics())


def _served() -> Iterator[str]:
    connects = {str(row["name"]) for row in recorded()}
    found = {one.name: one for one in map(exported, measured())}
    yield "| name | labels | type | what it is | |"
    yield "|---|---|---|---|---|"
    for one in sorted(found.values(), key=lambda one: one.name):
        yield _row(one, own=one.name not in connects)
    yield ""


def _row(one: ExportedMetric, *, own: bool) -> str:
    labels = ", ".join(f"`{label}`" for label in sorted(one.labels))
    kind = "counter" if one.is_counter else "gauge"
    return f"| `{one.name}` | {labels} | {kind} | {one.doc} | {'own' if own else ''} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
