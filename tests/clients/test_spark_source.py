"""Spark's own Kafka source reads from the embedded broker at either isolation level."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from confluent_kafka import Producer

WAIT = 30.0
PROGRAM = Path(__file__).with_name("spark_source.py")


@pytest.fixture(scope="module")
def spark40(unavailable) -> None:
    """Skip where PySpark is another: the source's jars exist whole for 4.0 alone."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        unavailable("spark", "PySpark is not installed")
    if not found.startswith("4.0."):
        pytest.skip(f"Spark's Kafka source can be had whole for PySpark 4.0, this is {found}")


@pytest.fixture
def history(embedded, topic, fresh):
    """Committed, aborted, plain, interleaved and open: what is in the log, what of it is committed."""
    name = topic(2)
    # The open transaction lasts while Spark starts and reads, on a busy machine longer than a minute.
    settings = {"bootstrap.servers": embedded, "log_level": 0, "transaction.timeout.ms": 600_000}
    one, other, late = (Producer({**settings, "transactional.id": fresh("id")}) for _ in range(3))
    plain = Producer({"bootstrap.servers": embedded, "log_level": 0})
    for producer in (one, other, late):
        producer.init_transactions(WAIT)
    everything: list[str] = []
    committed: list[str] = []

    def send(producer, text, *, visible):
        for partition in range(2):
            value = f"{text} in {partition}"
            producer.produce(name, value, partition=partition)
            everything.append(value)
            committed.extend([value] if visible else [])
        producer.flush(WAIT)

    for turn in range(5):
        one.begin_transaction()
        other.begin_transaction()
        send(one, f"committed {turn}", visible=True)
        send(other, f"aborted {turn}", visible=False)
        send(plain, f"plain {turn}", visible=True)
        send(other, f"aborted again {turn}", visible=False)
        one.commit_transaction(WAIT)
        other.abort_transaction(WAIT)
    late.begin_transaction()
    send(late, "open", visible=False)
    send(plain, "behind what is open", visible=False)
    yield name, sorted(committed), sorted(everything)
    late.abort_transaction(WAIT)


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_sparks_kafka_source_follows_its_isolation_level(spark40, history, embedded):
    """CON-01, CON-02, CON-05: batch and stream; gaps of markers and aborted records do not hold it up."""
    topic, committed, everything = history

    ran = subprocess.run(
        [sys.executable, str(PROGRAM), embedded, topic], capture_output=True, text=True, timeout=200, check=False
    )

    assert ran.returncode == 0, ran.stderr[-5000:]
    seen = json.loads(ran.stdout.splitlines()[-1])
    for level, expected in (("read_committed", committed), ("read_uncommitted", everything)):
        for way in ("batch", "stream"):
            assert sorted(value for _, _, value in seen[level][way]) == expected, (level, way)
