"""Record the metrics of a real Kafka Connect as the Prometheus JMX exporter serves them; run by hand.

    PYTHONPATH=tests python -m tests.rest.record_connect_metrics kafka-connect.yml

The rules are `examples/kafka-connect.yml` of the JMX exporter. A worker with exactly-once support runs connectors named
`source` and `sink`. `connect_metrics.json` has of each metric the name, type, labels, and which of the two
connectors have it; values are left out. Needs Java 17 or later; the jars come from Maven Central by name.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jgo
from prometheus_client.parser import text_string_to_metric_families

from ports import free_ports
from real_kafka import KAFKA_VERSION, RealKafka, java_command

GOLDEN = Path(__file__).with_name("connect_metrics.json")
EXPORTER = "io.prometheus.jmx:jmx_prometheus_javaagent:0.20.0"
"""The newest of which Maven Central has a jar and that serves names as the rules say: 1.0.1 leaves out `_total`."""
_TOPIC = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
_PATIENCE = 60.0
_WINDOW = 5.0
"""Seconds in which the worker commits and measures."""


def main(rules: str) -> None:
    with ExitStack() as undo:
        kafka = RealKafka.start()
        undo.callback(kafka.stop)
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        rest, exporter = (f"127.0.0.1:{port}" for port in free_ports(2))
        worker = _start_connect(kafka.bootstrap_servers, rest, exporter, folder, Path(rules).resolve())
        undo.callback(worker.wait)
        undo.callback(worker.kill)
        _run_connectors(f"http://{rest}", folder)
        text = _request(f"http://{exporter}/metrics").decode()
    rows = _families(text)
    GOLDEN.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    print(f"{len(rows)} metrics in {GOLDEN.name}")  # noqa: T201 - a script run by hand


def _start_connect(servers: str, rest: str, exporter: str, folder: Path, rules: Path) -> subprocess.Popen[bytes]:
    plugins = folder / "plugins" / "file"
    plugins.mkdir(parents=True)
    for jar in jgo.build(f"org.apache.kafka:connect-file:{KAFKA_VERSION}").all_jars:
        shutil.copy(jar, plugins)
    properties = {
        "bootstrap.servers": servers,
        "group.id": "golden",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        **{f"{one}.storage.topic": f"golden-{one}" for one in ("config", "offset", "status")},
        **{f"{one}.storage.replication.factor": "1" for one in ("config", "offset", "status")},
        "offset.flush.interval.ms": "500",
        "exactly.once.source.support": "enabled",
        "listeners": f"http://{rest}",
        "plugin.path": str(folder / "plugins"),
    }
    given = folder / "connect.properties"
    given.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    java, *options = java_command(["connect-runtime", "connect-json"])
    agent = next(jar for jar in jgo.build(EXPORTER).all_jars if "javaagent" in str(jar))
    command = [java, f"-javaagent:{agent}={exporter}:{rules}", *options]
    log = (folder / "connect.log").open("wb")
    with log:
        return subprocess.Popen(
            [*command, "org.apache.kafka.connect.cli.ConnectDistributed", str(given)], stdout=log, stderr=log
        )


def _run_connectors(worker: str, folder: Path) -> None:
    lines = folder / "lines.txt"
    lines.write_text("one\ntwo\n")
    _until(lambda: _request(f"{worker}/connectors") == b"[]")
    source = {"connector.class": "FileStreamSource", "file": str(lines), "topic": "lines", **_TOPIC}
    sink = {"connector.class": "FileStreamSink", "file": str(folder / "copy.txt"), "topics": "lines"}
    for name, config in (("source", source), ("sink", sink)):
        _request(f"{worker}/connectors", {"name": name, "config": config})
        _until(lambda name=name: b'"RUNNING"' in _request(f"{worker}/connectors/{name}/tasks/0/status"))
    _until((folder / "copy.txt").exists)
    time.sleep(_WINDOW)


def _until(holds: Any) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            if holds():
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.2)


def _request(url: str, body: object = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def _families(text: str) -> list[dict[str, Any]]:
    """Name, type, labels, and the connectors that have it, of everything that is about Kafka."""
    rows = []
    for family in text_string_to_metric_families(text):
        by_name = defaultdict(list)
        for sample in family.samples:
            by_name[sample.name].append(sample.labels)
        for name, labels in by_name.items():
            if name.startswith("kafka_"):
                connectors = sorted({one["connector"] for one in labels if "connector" in one})
                names = sorted({label for one in labels for label in one})
                rows.append({"name": name, "type": family.type, "labels": names, "connectors": connectors})
    return sorted(rows, key=lambda row: row["name"])


if __name__ == "__main__":
    main(sys.argv[1])
