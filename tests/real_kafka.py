"""Start one node of a real Apache Kafka on free ports; `python tests/real_kafka.py` serves until SIGTERM."""

from __future__ import annotations

import argparse
import base64
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Self

from eosfw.concurrency import ThreadRuntime
from maven import jars
from ports import free_ports

if TYPE_CHECKING:
    from confluent_kafka import Consumer

KAFKA_VERSION = "4.1.1"
BROKER = ("kafka_2.13",)
LOGGING = "org.slf4j:slf4j-simple:1.7.36"
STARTED = "Kafka Server started"
READY_WITHIN = 90.0
INTERNAL_PARTITIONS = 5
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java that compiles less: a third of the processor's time less for a test run, but slower than the real one is."""

_DAY_MS = "86400000"
_META = "meta.properties"
SETTINGS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.min.isr": "1",
    # Released Kafka looks for expired transactions every 10 s; tests of timeouts should not wait that long.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    # Members of consumer groups learn of a rebalance with their next heartbeat, by default only every 5 s.
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "auto.create.topics.enable": "false",
    # Tests write records of 1970 and of 2023: those go when retention is looked at, at first after 30 s.
    "log.initial.task.delay.ms": _DAY_MS,
    "log.retention.check.interval.ms": _DAY_MS,
}


class RealKafkaUnavailableError(RuntimeError):
    """This machine cannot serve a real Kafka; the text says why."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener beside PLAINTEXT; `advertised` is the address, HOST:PORT, of one that clients reach elsewhere."""

    security_protocol: str
    advertised: str | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one node lives: its folder, its ports."""

    folder: Path
    java_options: tuple[str, ...]
    port: int
    controller_port: int
    more_ports: Mapping[str, int]
    version: str

    @property
    def properties_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log_file(self) -> Path:
        return self.folder / "kafka.log"

    def log_tail(self) -> str:
        text = self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
        return text[-1500:].strip() or "(its log is empty)"


class RealKafka:
    """One running node; `stop` ends it, then deletes its folder."""

    def __init__(self, place: _Place, process: subprocess.Popen[bytes]) -> None:
        self._place = place
        self._process = process
        self.bootstrap_servers = f"127.0.0.1:{place.port}"
        self.listeners = {name: f"127.0.0.1:{port}" for name, port in place.more_ports.items()}
        self.pid = process.pid

    @classmethod
    def start(
        cls,
        folder: Path | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        features: Mapping[str, int] | None = None,
        java_options: tuple[str, ...] = QUICK,
        listeners: Mapping[str, Listener] | None = None,
        version: str = KAFKA_VERSION,
    ) -> Self:
        """Serve a fresh node and return once it answers; raise RealKafkaUnavailableError with the reason if it cannot.

        `folder` (made when missing, deleted by `stop`) holds its data; `properties` are added to the broker's own;
        `features` are levels other than those of its release, such as {"transaction.version": 1}. Whoever measures
        Kafka gives no `java_options`: `()`.
        """
        command = java_command(version=version)
        root = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="eosfw-kafka-"))
        root.mkdir(parents=True, exist_ok=True)
        try:
            port, controller_port, *more = free_ports(2 + len(listeners or {}))
            place = _Place(
                root, java_options, port, controller_port, dict(zip(listeners or {}, more, strict=True)), version
            )
            _write_properties(place, {**_listeners(place, listeners or {}), **(properties or {})})
            _format_storage(command, place, features or {})
            node = cls(place, _launch(command, place))
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise
        try:
            node._wait_until_started()
        except BaseException:
            node.stop()
            raise
        return node

    def _wait_until_started(self) -> None:
        runtime = ThreadRuntime()
        deadline = runtime.now() + READY_WITHIN
        while STARTED not in self._place.log_file.read_text(errors="replace"):
            if self._process.poll() is not None:
                raise RealKafkaUnavailableError(f"Kafka ended at start: {self._place.log_tail()}")
            if runtime.now() > deadline:
                raise RealKafkaUnavailableError(f"Kafka did not start in {READY_WITHIN:g} s: {self._place.log_tail()}")
            runtime.sleep(0.1)

    def restart(self) -> None:
        """End the node at once, then serve what it has written, on the same ports."""
        self._process.kill()
        self._process.wait(timeout=30)
        self._process = _launch(java_command(version=self._place.version), self._place)
        self.pid = self._process.pid
        self._wait_until_started()

    def stop(self) -> None:
        """End the node at once; its data is thrown away, so it need not shut down in order."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(timeout=30)
        shutil.rmtree(self._place.folder, ignore_errors=True)


def wait_for_coordinators(servers: str) -> None:
    """Return once every partition of its own topics is led: a fresh node makes them when it is first asked.

    Clients ask again until then; single requests would meet its refusals. Each is asked at the same time as the others:
    one after the other, they would spend 2.6 to 3.4 s in pauses between their own attempts instead of 1.1 to 1.6.
    """
    names = map(str, range(INTERNAL_PARTITIONS))  # Java's hash codes of digits follow each other
    waits = (_wait_for_transaction_coordinator, _wait_for_group_coordinator)
    with ThreadPoolExecutor(len(waits) * INTERNAL_PARTITIONS) as threads:
        for done in [threads.submit(wait, servers, name) for name in names for wait in waits]:
            done.result()


def _wait_for_transaction_coordinator(servers: str, transactional_id: str) -> None:
    from confluent_kafka import Producer

    properties = {"bootstrap.servers": servers, "log_level": 0, "transactional.id": transactional_id}
    Producer(properties).init_transactions(READY_WITHIN)


def _wait_for_group_coordinator(servers: str, group: str) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": servers, "log_level": 0, "group.id": group})
    while not _has_coordinator(consumer):
        """This refusal reaches a consumer, too."""
    consumer.close()


def _has_coordinator(consumer: Consumer) -> bool:
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    try:
        consumer.committed([TopicPartition("any", 0)], READY_WITHIN)
    except KafkaException as refused:
        if refused.args[0].code() not in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS):
            raise
        return False
    return True


def java_command(artifacts: Iterable[str] = BROKER, version: str = KAFKA_VERSION) -> list[str]:
    """How to call a class of Kafka's artifacts; raise RealKafkaUnavailableError where there is no Java, or no jars."""
    java = shutil.which("java")
    if java is None:
        raise RealKafkaUnavailableError("no `java` on PATH; a real Kafka needs Java 17 or later")
    return [java, "-cp", ":".join(_jars(artifacts, version)), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]


def _jars(artifacts: Iterable[str], version: str) -> list[str]:
    endpoint = "+".join([*(f"org.apache.kafka:{name}:{version}" for name in artifacts), LOGGING])
    try:
        return [str(jar) for jar in jars(endpoint)]
    except ImportError as why:
        raise RealKafkaUnavailableError(f"`jgo` is not installed ({why}); try: pip install jgo") from why
    except Exception as why:  # jgo raises whatever its downloader raises; all of it means "no jars"
        raise RealKafkaUnavailableError(f"could not resolve {endpoint}: {why!r}") from why


def _listeners(place: _Place, more: Mapping[str, Listener]) -> dict[str, str]:
    ports = {"PLAINTEXT": place.port, **place.more_ports}
    served = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    advertised = {**served, **{name: one.advertised for name, one in more.items() if one.advertised is not None}}
    protocols = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT"}
    protocols |= {name: one.security_protocol for name, one in more.items()}
    return {
        "listeners": ",".join([*_named(served), f"CONTROLLER://127.0.0.1:{place.controller_port}"]),
        "advertised.listeners": ",".join(_named(advertised)),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
    }


def _named(addresses: Mapping[str, str]) -> list[str]:
    return [f"{name}://{address}" for name, address in addresses.items()]


def _write_properties(place: _Place, properties: Mapping[str, str]) -> None:
    settings = {
        **SETTINGS,
        "controller.quorum.voters": f"1@127.0.0.1:{place.controller_port}",
        "log.dirs": str(place.data),
        **properties,
    }
    place.properties_file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def _format_storage(command: list[str], place: _Place, features: Mapping[str, int]) -> None:
    """Have the storage of a new cluster: a copy of what Kafka's tool, a JVM of a second, made for the first node."""
    levels = [f"{name}={level}" for name, level in features.items()]
    kept = Path(sys.prefix, "-".join(["kafka-storage", place.version, *levels]))
    if kept.exists():
        shutil.copytree(kept, place.data)
        written = (place.data / _META).read_text()
        (place.data / _META).write_text(re.sub(r"(?m)^cluster\.id=.*$", f"cluster.id={_new_cluster_id()}", written))
        return
    java, *rest = command
    tool = [java, *QUICK, *rest, "kafka.tools.StorageTool", "format"]
    tool += ["-t", _new_cluster_id(), "-c", str(place.properties_file)]
    for level in levels:
        tool += ["--feature", level]
    try:
        done = subprocess.run(tool, capture_output=True, text=True, timeout=READY_WITHIN, check=False)
    except subprocess.TimeoutExpired:
        raise RealKafkaUnavailableError(f"Kafka did not format its storage in {READY_WITHIN:g} s") from None
    if done.returncode:
        raise RealKafkaUnavailableError(f"Kafka could not format its storage: {(done.stderr or done.stdout)[-1500:]}")
    # Nobody may write there, or another process was first.
    with suppress(OSError), tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
        Path(shutil.copytree(place.data, Path(folder, kept.name))).rename(kept)


def _new_cluster_id() -> str:
    # An identifier that starts with a dash would be read as an option.
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()[1:]


def _launch(command: list[str], place: _Place) -> subprocess.Popen[bytes]:
    java, *rest = command
    # A test run that is killed must not leave a broker behind.
    tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    memory = ["-Xmx768m", "-Xms256m"]
    logging = ["-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info"]
    with place.log_file.open("wb") as log:
        return subprocess.Popen(
            [*tied, java, *place.java_options, *memory, *logging, *rest, "kafka.Kafka", str(place.properties_file)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Print the bootstrap address, then serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--property", action="append", default=[], metavar="NAME=VALUE", help="a broker property")
    properties = dict(item.split("=", 1) for item in parser.parse_args().property)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        node = RealKafka.start(properties=properties, java_options=())
    except RealKafkaUnavailableError as why:
        sys.stderr.write(f"{why}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    try:
        sys.stdout.write(f"{node.bootstrap_servers}\n")
        sys.stdout.flush()
        signal.pause()
    except KeyboardInterrupt:
        return 0
    finally:
        node.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
