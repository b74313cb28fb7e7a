"""Measure how long a client takes to say that a secured Kafka refuses it, and what it says, mistake by mistake.

Starts a real Kafka with TLS, SASL/PLAIN and SCRAM. `--tree DIR` measures another checkout as well, such as
`git worktree add /tmp/before HEAD~1` makes, which meets the same Kafka. Each call is the first one of a new admin
client, with the default timeouts. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "backends/confluent/src", "backends/kafka_python/src")
BACKENDS = ("confluent", "kafka-python")


def mistakes(folder: Path) -> tuple[Any, dict[str, dict[str, str]]]:
    """A running Kafka, with the properties of clients that it refuses; none by names that only Java has."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    from secured_kafka import PASSWORD, Authority, SecuredKafka

    kafka = SecuredKafka.start(folder)
    other = Authority.make(folder / "other", "another authority")
    right = {
        "bootstrap.servers": kafka.sasl_ssl,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(kafka.authority.ca),
    }
    port = kafka.sasl_ssl.rpartition(":")[2]
    return kafka, {
        "nothing wrong": right,
        "wrong password, SCRAM": right | {"sasl.password": "wrong"},
        "wrong password, PLAIN": right | {"sasl.mechanism": "PLAIN", "sasl.password": "wrong"},
        "mechanism not offered": right | {"sasl.mechanism": "GSSAPI"},
        "authority unknown": right | {"ssl.ca.location": str(other.ca)},
        "wrong host name": right | {"bootstrap.servers": f"localhost:{port}"},
        "TLS to a plain listener": right | {"bootstrap.servers": kafka.plain},
        "no TLS to a TLS listener": right | {"security.protocol": "SASL_PLAINTEXT"},
        "no SASL to a SASL listener": right | {"security.protocol": "SSL"},
        "no client certificate": right | {"bootstrap.servers": kafka.mutual, "security.protocol": "SSL"},
    }


def call(backend: str, properties: Mapping[str, str]) -> tuple[float, str]:
    """Seconds until the first call has answered, and the answer."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw.errors import EosfwError

    if backend == "confluent":
        from eosfw_confluent.backend import ConfluentBackend as Backend
    else:
        from eosfw_kafka_python.backend import KafkaPythonBackend as Backend  # type: ignore[assignment]
    began, answer = time.perf_counter(), "answered"
    try:
        client = Backend.connect(properties, ThreadRuntime())
        client.admin().partitions()
        client.close()
    except EosfwError as why:
        answer = f"{type(why).__name__}: {why}"
    return round(time.perf_counter() - began, 2), answer


def measured(tree: Path, asked: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """What a process that uses the sources of a checkout finds."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / each) for each in SOURCES)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--child"],
        input=json.dumps(asked),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, action="append", default=[], help="another checkout")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        asked = json.load(sys.stdin)
        found = {one: {backend: call(backend, properties) for backend in BACKENDS} for one, properties in asked.items()}
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as folder:
        kafka, every = mistakes(Path(folder))
        try:
            some = dict(list(every.items())[: scaled(len(every))])
            show({tree.name or "this": measured(tree, some) for tree in (ROOT, *arguments.tree)})
        finally:
            kafka.stop()


if __name__ == "__main__":
    run_main(main)
