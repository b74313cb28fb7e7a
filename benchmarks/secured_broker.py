"""Measure the embedded broker over TLS: beside a real Kafka, and with many connections that do nothing.

The first is SCRAM-SHA-512 and 1,000 records of 100 bytes a transaction, the second the memory of the broker's process.

Brokers are processes of their own. The two take turns, round by round, so that other load on the machine meets both.
Every number is a rate, work over the time it took, the ratio the median of the ratios of rounds; confluent-kafka's
producer connects anew in each round, outside the time that is taken. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import re
import socket
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmark import run_main, scaled, show
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from contenders import started

from eosfw.config.properties_file import parse_properties

ROOT = Path(__file__).parents[1]
VALUE = b"x" * 100
TIMEOUT = 60.0
NAME = "bench"
BROKER = (sys.executable, "-c", "from eosfw.cli import main; raise SystemExit(main())", "broker", "--tls", "auto")
Client = Mapping[str, str]


def librdkafka(properties: Client) -> dict[str, str]:
    """The arguments of confluent-kafka for what a client's properties say."""
    from eosfw.config.translation import Client as Kind
    from eosfw_confluent.properties import LIBRDKAFKA

    return {**LIBRDKAFKA.translate(properties, Kind.ADMIN), "log_level": "2"}


def records_per_second(client: Client, records: int) -> float:
    """How fast records are committed."""
    made = Producer({**client, "transactional.id": NAME, "linger.ms": 5, "queue.buffering.max.messages": 200_000})
    made.init_transactions(TIMEOUT)
    batch = [{"value": VALUE}] * 1_000
    began = time.perf_counter()
    for _ in range(records // 1_000):
        made.begin_transaction()
        made.produce_batch(NAME, batch, partition=0)
        made.commit_transaction(TIMEOUT)
    return records / (time.perf_counter() - began)


def compare(clusters: Mapping[str, Client], rounds: int, records: int) -> dict[str, float]:
    """The medians, and that of the ratios; a first round warms up."""
    found: dict[str, list[float]] = {name: [] for name in clusters}
    for number in range(rounds + 1):
        for name, client in clusters.items():
            value = records_per_second(client, records)
            if number:
                found[name].append(value)
    ratios = [ours / theirs for ours, theirs in zip(found["embedded"], found["kafka"], strict=True)]
    medians = {name: round(statistics.median(values)) for name, values in found.items()}
    return medians | {
        "embedded/kafka": round(statistics.median(ratios), 3),
        "least": round(min(ratios), 3),
        "most": round(max(ratios), 3),
        "goal": 1.0,
    }


def idle_connections(wanted: int, folder: Path) -> dict[str, float]:
    """Megabytes of a broker's process with so many TLS connections, each behind its handshake."""
    file = folder / "idle.properties"
    listen = ("--listen", "SSL://127.0.0.1:0", "--client-properties", str(file))
    with started("the idle broker", *BROKER, *listen) as broker, ExitStack() as clients:
        host, port = broker.address().split(":")
        tls = ssl.create_default_context(cafile=parse_properties(file.read_text())["ssl.truststore.location"])
        before = resident_megabytes(broker.process.pid)
        for _ in range(wanted):
            plain = socket.create_connection((host, int(port)))
            clients.enter_context(tls.wrap_socket(plain, server_hostname=host))
        more = resident_megabytes(broker.process.pid) - before
    return {"connections": wanted, "megabytes": round(more, 1), "goal for 5,000": 250}


def resident_megabytes(pid: int) -> float:
    """What a process holds in memory."""
    (kilobytes,) = re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(kilobytes) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=scaled(7))
    parser.add_argument("--records", type=int, default=scaled(500_000, least=10_000), help="in one measurement")
    parser.add_argument("--idle", type=int, default=scaled(5_000), help="connections that do nothing")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    from authorized_kafka import Acl
    from secured_kafka import SecuredKafka

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "client.properties"
        kafka = SecuredKafka.start(Path(folder) / "kafka", java_options=())
        try:
            kafka.create_topics(NAME)
            kafka.grant(*(Acl("alice", resource, NAME, "ALL") for resource in ("TOPIC", "TRANSACTIONAL_ID")))
            listen = ("--listen", "SASL_SSL://127.0.0.1:0", "--client-properties", str(file))
            with started("the embedded broker", *BROKER, *listen) as broker:
                broker.address()
                embedded = librdkafka(parse_properties(file.read_text()))
                admin = AdminClient(embedded)
                admin.create_topics([NewTopic(NAME, 1, 1)])[NAME].result(TIMEOUT)
                clusters = {"embedded": embedded, "kafka": librdkafka(kafka.sasl())}
                compared = compare(clusters, arguments.rounds, arguments.records)
            show({"records_per_second": compared, "idle": idle_connections(arguments.idle, Path(folder))})
        finally:
            kafka.stop()


if __name__ == "__main__":
    run_main(main)
