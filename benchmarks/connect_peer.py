"""Run Kafka Connect with exactly-once source support, to measure beside it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jgo
from benchmark import ContenderError

VERSION = "4.1.1"
PARTS = ("connect-runtime", "connect-file", "connect-json")
ENDPOINT = "+".join([*(f"org.apache.kafka:{part}:{VERSION}" for part in PARTS), "org.slf4j:slf4j-simple:1.7.36"])
READY_WITHIN = 120.0

SETTINGS = {
    "group.id": "peer",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.topic": "peer-offsets",
    "offset.storage.partitions": "5",
    "config.storage.topic": "peer-configs",
    "status.storage.topic": "peer-status",
    "offset.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "exactly.once.source.support": "enabled",
}


class Connect:
    """A running Connect worker, spoken to by its REST interface."""

    def __init__(self, url: str, process: int) -> None:
        self._url, self.process = url, process

    def processor_time(self) -> float:
        """The seconds of the processor that its process has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def put_file_source(self, name: str, file: str, topic: str, properties: dict[str, str]) -> None:
        """Start one task that reads a file."""
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": file,
            "topic": topic,
            "batch.size": "2000",
        }
        self.call("PUT", f"/connectors/{name}/config", config | properties)

    def check(self, name: str) -> None:
        """Raise ContenderError if a task of this connector has failed."""
        try:
            tasks = self.call("GET", f"/connectors/{name}/status")["tasks"]
        except urllib.error.HTTPError:  # 404 until the worker has taken the connector up
            return
        for task in tasks:
            if task["state"] == "FAILED":
                raise ContenderError(f"Kafka Connect's task failed: {task.get('trace', '').partition(chr(10))[0]}")

    def delete(self, name: str) -> None:
        self.call("DELETE", f"/connectors/{name}")

    def answers(self) -> bool:
        try:
            self.call("GET", "/connectors")
        except (urllib.error.URLError, OSError):
            return False
        return True


@contextmanager
def connect(bootstrap_servers: str, plugins: Mapping[str, str] | None = None) -> Iterator[Connect]:
    """A Connect worker against a cluster, killed at the end; `plugins` names more of them by their artifacts."""
    jars = [str(jar) for jar in jgo.build(ENDPOINT).all_jars]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        plugins_folder = Path(folder, "plugins")
        (plugins_folder / "file").mkdir(parents=True)
        for jar in jars:
            if Path(jar).name.startswith("connect-file"):
                shutil.copy(jar, plugins_folder / "file")
        for name, artifact in (plugins or {}).items():
            (plugins_folder / name).mkdir()
            for jar in jgo.build(artifact).all_jars:
                shutil.copy(jar, plugins_folder / name)
        settings = SETTINGS | {
            "bootstrap.servers": bootstrap_servers,
            "listeners": url,
            "plugin.path": str(plugins_folder),
        }
        properties = Path(folder, "connect.properties")
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        command = ["java", "-Xmx1g", "-cp", ":".join(jars), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        command += ["org.apache.kafka.connect.cli.ConnectDistributed", str(properties)]
        with Path(folder, "connect.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield _ready(Connect(url, process.pid), process, Path(folder, "connect.log"))
        finally:
            process.kill()  # its data is thrown away; in order it waits for tasks, up to a minute
            process.wait()


def _ready(peer: Connect, process: subprocess.Popen[bytes], log: Path) -> Connect:
    deadline = time.monotonic() + READY_WITHIN
    while not peer.answers():
        if process.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text(errors="replace").strip().splitlines()
            raise ContenderError(f"Kafka Connect did not start: {lines[-1] if lines else 'it said nothing'}")
        time.sleep(0.5)
    return peer
