"""A group of eosfw takes over the topics of a group of Kafka Connect, and back: nothing is lost, nothing repeated.

Both read one file of properties, on a real Kafka; config, offsets and status topics have the bytes of Kafka Connect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend

from .connect import Worker, launch_eosfw
from .reading import WAIT, LiveReader, read_all

LINES = 2_000
BATCH = 200
"""More lines than Kafka's connector buffers: what is left in its buffer it sends only when the file grows."""


@pytest.fixture
def group(fresh) -> str:
    return fresh("takeover")


@pytest.fixture
def start(java, real_kafka, group, tmp_path) -> Iterator[Callable[..., Worker]]:
    """Starts workers of one group, of Kafka Connect or with `launch_eosfw`."""
    workers = []

    def worker(launch=None) -> Worker:
        workers.append(Worker(java, tmp_path, group, real_kafka, launch))
        workers[-1].ready()
        return workers[-1]

    yield worker
    for one in workers:
        one.program.kill()


@pytest.fixture
def topic(real_kafka, fresh) -> str:
    name = fresh("lines")
    admin = AdminClient({"bootstrap.servers": real_kafka})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    return str(name)


class Lines:
    """A file that grows, and the connector that reads it."""

    def __init__(self, file: Path, topic: str) -> None:
        self.file, self.written = file, 0
        self.file.touch()
        self.config = {
            "connector.class": "FileStreamSource",
            "tasks.max": 1,
            "file": file,
            "topic": topic,
            "batch.size": BATCH,
            "exactly.once.support": "required",
        }

    def grow(self) -> None:
        with self.file.open("ab") as file:
            file.write(b"".join(b"line %d\n" % number for number in range(self.written, self.written + LINES)))
        self.written += LINES

    @property
    def values(self) -> list[bytes]:
        return [b"line %d" % number for number in range(self.written)]


def until_read(reader: LiveReader, lines: Lines, worker: Worker) -> None:
    assert reader.wait_for(lines.written), (
        f"{reader.count} of {lines.written} lines; tasks failed with {worker.failures('lines')}; "
        f"the worker said:\n{worker.program.output()[-5000:]}"
    )


def test_a_group_goes_from_connect_to_eosfw_and_back(start, real_kafka, topic, tmp_path) -> None:
    lines = Lines(tmp_path / "lines.txt", topic)
    lines.grow()
    with LiveReader(real_kafka, topic) as reader:
        java = start()
        java.configure("lines", lines.config)
        until_read(reader, lines, java)
        status = java.eventually(lambda: java.running_on("lines") and java.ask("GET", "/connectors/lines"))
        assert java.program.end() in (0, 143)

        lines.grow()
        own = start(launch_eosfw)
        until_read(reader, lines, own)
        assert own.ask("GET", "/connectors/lines") == status
        assert own.ask("GET", "/connectors/lines/offsets")["offsets"] == [
            {"partition": {"filename": str(lines.file)}, "offset": own_offset(lines, own)}
        ]
        assert own.program.end() == 0, own.program.output()

        lines.grow()
        again = start()
        until_read(reader, lines, again)
        assert again.ask("GET", "/connectors/lines") == status

    assert read_all(real_kafka, topic) == [lines.values]


def own_offset(lines: Lines, worker: Worker) -> dict[str, object]:
    """The offset at the end of the file; the file connector adds a fingerprint to Kafka Connect's position."""
    stored = worker.ask("GET", "/connectors/lines/offsets")["offsets"][0]["offset"]
    assert stored["position"] == lines.file.stat().st_size
    return dict(stored)


def until_empty(servers: str, group: str) -> None:
    """Wait until the coordinator has given up the members of a group."""
    # librdkafka describes no group of another protocol than its own.
    with (
        closing(MemoryBackend.connect({"bootstrap.servers": servers}, ThreadRuntime())) as backend,
        closing(backend.admin()) as admin,
    ):
        deadline = time.monotonic() + WAIT
        while admin.describe_group(group).members:
            assert time.monotonic() < deadline, f"group {group} still has members"
            time.sleep(0.2)


@pytest.mark.parametrize("killed", ["connect", "eosfw"])
def test_a_worker_killed_in_a_transaction_is_taken_over(start, real_kafka, group, topic, tmp_path, killed) -> None:
    lines = Lines(tmp_path / "lines.txt", topic)
    first, second = (None, launch_eosfw) if killed == "connect" else (launch_eosfw, None)
    with LiveReader(real_kafka, topic) as reader:
        one = start(first)
        one.configure("lines", lines.config)
        lines.grow()
        assert reader.wait_for(LINES // 10), one.program.output()[-3000:]
        one.program.kill()

        lines.grow()
        until_empty(real_kafka, group)
        other = start(second)
        until_read(reader, lines, other)

    assert read_all(real_kafka, topic) == [lines.values]


def test_a_group_with_a_live_connect_worker_is_not_joined(start, java, real_kafka, group, tmp_path) -> None:
    start()

    refused = Worker(java, tmp_path, group, real_kafka, launch_eosfw)

    assert refused.program.wait() == 3, refused.program.output()
    assert "Kafka Connect" in refused.program.output()
    assert "Traceback" not in refused.program.output()
