"""`GET /metrics` serves what the JMX exporter serves of a real Kafka Connect 4.1.1, or the reference says why not."""

from __future__ import annotations

import json
import re
import runpy
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from eosfw.concurrency import ThreadRuntime

REFERENCE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "reference" / "metrics_page.py"))
PATIENCE = 60.0


class Shown(NamedTuple):
    kind: str
    labels: frozenset[str]


def test_every_metric_of_kafka_connect_is_served_or_its_lack_explained(worker: str, tmp_path: Path) -> None:
    """MET-01: a dashboard finds the same names, with the same labels; only `_total` is a counter here."""
    served, recorded, patterns = _served(worker, tmp_path), REFERENCE["recorded"](), REFERENCE["not_served"]()

    lacking = {row["name"] for row in recorded if not served.get(row["name"])}
    explained = {
        name: [one for one in patterns if re.fullmatch(one, name)] for name in (row["name"] for row in recorded)
    }
    assert {name for name in lacking if not explained[name]} == set()
    assert {name for name, why in explained.items() if why and name not in lacking} == set()
    assert set(patterns) == {one for why in explained.values() for one in why}, "remove what is not lacking any more"
    wanted = {row["name"]: _wanted(row) for row in recorded if row["name"] in served}
    assert {name: served[name] for name in wanted} == wanted
    assert len(wanted) > 50


def _wanted(row: dict[str, Any]) -> Shown:
    return Shown("counter" if row["name"].endswith("_total") else row["type"], frozenset(row["labels"]))


def _served(worker: str, folder: Path) -> dict[str, Shown]:
    """Type and labels of what a worker with one running task serves, by name."""
    (folder / "lines.txt").write_text("one\n")
    config = {"connector.class": "file", "file": str(folder / "lines.txt"), "topic": "lines"}
    body = json.dumps({"name": "source", "config": config}).encode()
    request = urllib.request.Request(f"http://{worker}/connectors", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=20).close()
    runtime = ThreadRuntime()
    deadline = runtime.now() + PATIENCE
    while 'status="running"' not in (text := _metrics(worker)) or "transaction_size_avg" not in text:
        assert runtime.now() < deadline, text
        runtime.sleep(0.1)
    return {
        sample.name: Shown(family.type, frozenset(sample.labels))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _metrics(worker: str) -> str:
    with urllib.request.urlopen(f"http://{worker}/metrics", timeout=20) as answer:
        return str(answer.read().decode())
