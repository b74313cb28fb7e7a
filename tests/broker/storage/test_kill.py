"""`eosfw broker --data-dir` killed with SIGKILL while an ordinary client runs transactions."""

from __future__ import annotations

import itertools
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import NewTopic

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw_memory.client.backend import MemoryBackend
from ports import free_port
from pytest_eos.contracts.backends.harness import BackendHarness, record

from ..conftest import WAIT, Clients
from .data_directory_harness import data_file, files, flip

EOSFW = [sys.executable, "-c", "from eosfw_command import main; main()", "broker"]
TOPICS = ("left", "right")


class Process:
    """One run of the command; it listens on return."""

    def __init__(self, root: Path, port: int = 0, *options: str) -> None:
        command = [*EOSFW, "--listen", f"127.0.0.1:{port}", "--data-dir", str(root), *options]
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        output = self.popen.stdout.readline()
        assert output.startswith("listening on "), self.popen.stderr.read()
        self.servers = output.split()[-1]
        self.port = int(self.servers.rpartition(":")[2])

    def end(self, number: int) -> str:
        """Send a signal, wait for the end; give what was said on stderr."""
        self.popen.send_signal(number)
        return self.popen.communicate(timeout=WAIT)[1]


def refused(root: Path) -> subprocess.CompletedProcess[str]:
    command = [*EOSFW, "--listen", "127.0.0.1:0", "--data-dir", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)


@pytest.fixture
def running(tmp_path):
    """Starts runs on one directory; none is left behind."""
    runs = []

    def start(*options: str) -> Process:
        runs.append(Process(tmp_path / "data", runs[-1].port if runs else free_port(), *options))
        return runs[-1]

    yield start
    for run in runs:
        if run.popen.poll() is None:
            run.end(signal.SIGKILL)
        run.popen.stdout.close()
        run.popen.stderr.close()


def producer(servers: str) -> Producer:
    settings = {"transactional.id": "worker", "linger.ms": 0, "log_level": 0, "transaction.timeout.ms": 10_000}
    made = Producer({"bootstrap.servers": servers, **settings}, logger=None)
    made.init_transactions(WAIT)
    return made


def transactions(made: Producer, numbers, until: int, kill) -> list[int]:
    """Run transactions over both topics, every fifth aborted, `kill` in the middle of one; give those committed."""
    committed = []
    for count, number in enumerate(numbers):
        made.begin_transaction()
        for topic in TOPICS:
            made.produce(topic, b"%d" % number)
        if count == until:
            made.flush(0 if until % 2 else 1)
            kill()
            with pytest.raises(KafkaException):
                made.abort_transaction(1) if number % 5 == 4 else made.commit_transaction(1)
            break
        if number % 5 == 4:
            made.abort_transaction(WAIT)
        else:
            made.commit_transaction(WAIT)
            committed.append(number)
    return committed


@pytest.mark.parametrize("flush", [pytest.param("os", marks=pytest.mark.nightly), "fsync"])
def test_committed_records_and_only_those_survive_every_kill(running, flush):
    """Kills at different steps; each new producer takes over the id and goes on."""
    broker, numbers, committed = running("--flush", flush), itertools.count(), []
    admin = Clients(broker.servers).admin
    for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in TOPICS]).values():
        made.result(WAIT)
    for until in (7, 20, 3):
        client = producer(broker.servers)
        run = broker
        committed += transactions(client, numbers, until, lambda run=run: run.end(signal.SIGKILL))
        del client
        broker = running("--flush", flush)
    producer(broker.servers)  # ends what the last one left open
    left, right = (Clients(broker.servers).values(topic) for topic in TOPICS)
    assert sorted(left) == sorted(right)
    seen = [int(value) for value in left]
    assert len(seen) == len(set(seen))
    assert set(committed) <= set(seen)
    assert len(set(seen) - set(committed)) <= 3, "only the transactions whose answer was lost may be there besides"
    assert not any(number % 5 == 4 for number in seen)
    assert "Traceback" not in broker.end(signal.SIGTERM)
    assert broker.popen.returncode == 0


@pytest.mark.parametrize("point", ["after-offsets", "before-materialize"])
def test_a_kill_before_the_offset_response_keeps_offsets_and_records_together(running, tmp_path, point):
    """GRP-01: SIGKILL between log and answer, recovery from the files; `test_group_log` has restarts at every point."""
    (faults := tmp_path / "faults.toml").write_text(f'[[fault]]\nkind = "kill"\nat = "{point}"\nnth = 2\n')
    broker = running("--flush", "fsync", "--faults", str(faults))
    lab = backend_harness(broker)
    topic, answered = lab.topic(), []
    one, group = TopicPartition(topic, 0), ConsumerGroupMetadata("copiers")
    client = lab.producer("copier")

    def copy() -> None:
        with suppress(EosfwError):
            for number in (1, 2):
                client.begin_transaction()
                client.send(record(topic, b"%d" % number))
                client.send_offsets({one: number}, group, WAIT)
                client.commit_transaction(WAIT)
                answered.append(number)

    copying = lab.runtime.spawn("copying", copy)
    assert broker.popen.wait(WAIT) == -signal.SIGKILL
    with suppress(EosfwError):
        client.close()  # else it would look for the broker all the time that it has
    assert copying.join(WAIT)
    with suppress(EosfwError):
        lab.close()

    lab = backend_harness(running("--flush", "fsync"))
    lab.producer("copier")  # ends what the last one left open
    offset = lab.admin.group_offsets("copiers", [one])[one]
    assert lab.values(topic) == [b"%d" % number for number in range(1, offset + 1)]
    assert offset == (2 if "materialize" in point else 1)
    assert answered in ([1], [1, 2])
    assert len(answered) <= offset
    lab.close()


def backend_harness(broker: Process) -> BackendHarness:
    """A client of a broker."""
    runtime = ThreadRuntime()
    known = {"bootstrap.servers": broker.servers, "eosfw.transport": "socket"}
    return BackendHarness(MemoryBackend.connect(known, runtime), runtime)


def test_damaged_data_ends_the_command_with_file_and_position(running, tmp_path):
    """Exit code 4, no traceback, nothing changed."""
    broker = running()
    client = Clients(broker.servers)
    topic = client.topic()
    made = client.producer()
    for number in range(3):
        made.begin_transaction()
        made.produce(topic, b"%d" % number)
        made.commit_transaction(WAIT)
    broker.end(signal.SIGKILL)
    path = data_file(tmp_path / "data", topic=topic)
    flip(path, 65)
    before = files(tmp_path)
    found = refused(tmp_path / "data")
    assert found.returncode == 4
    assert f"{path}: damaged at byte 0 (offset 0): the checksum does not fit" in found.stderr
    assert "Traceback" not in found.stderr
    assert files(tmp_path) == before


def test_fsync_without_a_directory_is_refused():
    """There would be nothing to wait for."""
    command = [*EOSFW, "--listen", "127.0.0.1:0", "--flush", "fsync"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert found.returncode == 3
    assert "give a directory with --data-dir" in found.stderr


def test_a_full_disk_refuses_writers_serves_readers_and_loses_nothing(running, tmp_path):
    """The system takes no byte beyond a limit; what was acknowledged is there when there is room again."""
    broker = running()
    client = Clients(broker.servers)
    topic = client.topic()
    resource.prlimit(broker.popen.pid, resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    acknowledged = []

    def delivered(error, message):
        if error is None:
            acknowledged.append(message.value())

    settings = {"bootstrap.servers": broker.servers, "retries": 0, "log_level": 0, "batch.size": 3000}
    made = Producer(settings, logger=None)
    for number in range(100):
        made.produce(topic, b"%03d" % number + b"x" * 2000, callback=delivered)
    made.flush(WAIT)
    assert 0 < len(acknowledged) < 50
    resource.prlimit(broker.popen.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    made.produce(topic, b"later", callback=delivered)
    made.flush(WAIT)
    assert client.values(topic) == acknowledged
    assert b"later" not in acknowledged
    broker.end(signal.SIGKILL)
    broker = running()
    assert Clients(broker.servers).values(topic)[: len(acknowledged)] == acknowledged
