"""A streaming query outlives its broker's absence (SPK-05)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eosfw.concurrency import ThreadRuntime
from kip98.clients import ClientOnCluster
from ports import free_port
from pytest_eos.contracts.backends.harness import BackendHarness

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]
RUNTIME = ThreadRuntime()
AWAY = 60.0
WITHIN = 240.0


class BrokerProcess:
    """The embedded broker on a directory, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.servers = self._start(f"127.0.0.1:{free_port()}")

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        RUNTIME.sleep(AWAY)
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.close()
        RUNTIME.sleep(AWAY)
        self._start(self.servers)

    def close(self) -> None:
        with self._process as process:
            process.kill()

    def _start(self, listen: str) -> str:
        command = [sys.executable, "-m", "eosfw_memory", "--listen", listen, f"log.dirs={self._folder}"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        return self._process.stdout.readline().removeprefix("listening on ").strip()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    started = BrokerProcess(tmp_path / "broker")
    yield started
    started.close()


class Copy:
    """A query that copies a topic, as long as it runs."""

    def __init__(self, spark: SparkSession, servers: str, checkpoint: Path) -> None:
        self._servers = servers
        lab = self._lab()
        self._source, self._copies = lab.topic(2), lab.topic(2)
        lab.close()
        # Longer than the broker is away: by default a read that makes no progress fails after 60 s.
        cluster = {"kafka.bootstrap.servers": servers, "kafkaConsumer.pollTimeoutMs": str(round(WITHIN * 1000))}
        rows = spark.readStream.format("eosfw").options(**cluster, subscribe=self._source, startingOffsets="earliest")
        writer = rows.load().select("value").writeStream.format("eosfw").options(topic=self._copies)
        writer = writer.option("kafka.bootstrap.servers", servers).option("checkpointLocation", str(checkpoint))
        self.query: StreamingQuery = writer.trigger(processingTime="500 milliseconds").start()

    def add(self, values: list[bytes]) -> None:
        lab = self._lab()
        lab.write(self._source, *values)
        lab.close()

    def await_copied(self, values: list[bytes]) -> None:
        """Return once the copies are these, each once."""
        deadline = RUNTIME.now() + WITHIN
        while (found := self._values()) != values:
            assert len(found) < len(values), found
            assert self.query.isActive, self.query.exception()
            assert RUNTIME.now() < deadline, found
            RUNTIME.sleep(1.0)

    def _values(self) -> list[bytes]:
        lab = self._lab()
        found = sorted(value or b"" for value in lab.values(self._copies))
        lab.close()
        return found

    def _lab(self) -> BackendHarness:
        return BackendHarness(ClientOnCluster("confluent", "").connect(self._servers, RUNTIME), RUNTIME)


@pytest.mark.parametrize("how", ["freeze", "kill"])
def test_a_query_goes_on_after_its_broker_was_away_for_a_minute(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path, how: str
) -> None:
    """Frozen, or killed and started again on its directory; in between the query meets nobody."""
    values = [b"%03d" % number for number in range(40)]
    copy = Copy(spark, broker.servers, tmp_path / "checkpoint")
    try:
        copy.add(values[:20])
        copy.await_copied(values[:20])
        getattr(broker, how)()
        copy.add(values[20:])
        copy.await_copied(values)
        assert copy.query.isActive
    finally:
        copy.query.stop()
