"""A group of eosfw takes over the topics of a group of Kafka Connect, and back: nothing is lost, nothing repeated.

Both read one file of properties, on a real Kafka; config, offsets and status topics have the bytes of Kafka Connect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend

from .connect import Worker, launch_eosfw
from .reading import WAIT, LiveReader, read_all, read_pairs

LINES = 2_000
BATCH = 200
"""More lines than Kafka's connector buffers: what is left in its buffer it sends only when the file grows."""
JSON = {
    **{f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")},
    **{f"{part}.converter.schemas.enable": "true" for part in ("key", "value")},
    "transforms": "line,source,key",
    "transforms.line.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.line.field": "line",
    "transforms.source.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.source.static.field": "source",
    "transforms.source.static.value": "file",
    "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
    "transforms.key.fields": "line",
}
"""Keys and values with schemas, made by transformations."""
LINE = '{"type":"string","optional":false,"field":"line"}'
SOURCE = '{"type":"string","optional":true,"field":"source"}'


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
def topic(real_kafka, fresh) -> Callable[[], str]:
    """Creates topics of one partition."""
    admin = AdminClient({"bootstrap.servers": real_kafka})

    def create() -> str:
        name = fresh("lines")
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        return str(name)

    return create


class Lines:
    """A file that grows, and the connector that reads it."""

    def __init__(self, file: Path, topic: str, name: str = "lines", **properties: str) -> None:
        self.name, self.topic, self.file, self.written = name, topic, file, 0
        self.file.touch()
        self.config = {
            "connector.class": "FileStreamSource",
            "tasks.max": 1,
            "file": file,
            "topic": topic,
            "batch.size": BATCH,
            "exactly.once.support": "required",
            **properties,
        }

    def grow(self) -> None:
        with self.file.open("ab") as file:
            file.write(b"".join(b"line %d\n" % number for number in range(self.written, self.written + LINES)))
        self.written += LINES

    @property
    def values(self) -> list[bytes]:
        return [b"line %d" % number for number in range(self.written)]

    @property
    def json_records(self) -> list[tuple[bytes, bytes]]:
        """Keys and values under the properties `JSON`."""
        return [
            (
                f'{{"schema":{struct(LINE)},"payload":{{"line":"{line}"}}}}'.encode(),
                f'{{"schema":{struct(LINE, SOURCE)},"payload":{{"line":"{line}","source":"file"}}}}'.encode(),
            )
            for line in map(bytes.decode, self.values)
        ]


def struct(*fields: str) -> str:
    return f'{{"type":"struct","fields":[{",".join(fields)}],"optional":false}}'


def until_read(reader: LiveReader, lines: Lines, worker: Worker) -> None:
    assert reader.wait_for(lines.written), (
        f"{reader.count} of {lines.written} lines; tasks failed with {worker.failures(lines.name)}; "
        f"the worker said:\n{worker.program.output()[-5000:]}"
    )


def test_a_group_goes_from_connect_to_eosfw_and_back(start, real_kafka, topic, tmp_path) -> None:
    """SCH-11: text, and JSON with schemas behind transformations, has the same bytes whoever writes it."""
    text = Lines(tmp_path / "lines.txt", topic())
    typed = Lines(tmp_path / "typed.txt", topic(), "typed", **JSON)
    with LiveReader(real_kafka, text.topic) as texts, LiveReader(real_kafka, typed.topic) as structs:

        def until_all_is_read(worker: Worker) -> None:
            until_read(texts, text, worker)
            until_read(structs, typed, worker)

        grow(text, typed)
        java = start()
        for one in (text, typed):
            java.configure(one.name, one.config)
        until_all_is_read(java)
        status = [java.eventually(partial(running, java, one)) for one in (text, typed)]
        assert java.program.end() in (0, 143)

        grow(text, typed)
        own = start(launch_eosfw)
        until_all_is_read(own)
        assert [own.ask("GET", f"/connectors/{one.name}") for one in (text, typed)] == status
        for one in (text, typed):
            assert own.ask("GET", f"/connectors/{one.name}/offsets")["offsets"] == [
                {"partition": {"filename": str(one.file)}, "offset": own_offset(one, own)}
            ]
        assert own.program.end() == 0, own.program.output()

        grow(text, typed)
        again = start()
        until_all_is_read(again)
        assert [again.ask("GET", f"/connectors/{one.name}") for one in (text, typed)] == status

    assert read_all(real_kafka, text.topic) == [text.values]
    assert read_pairs(real_kafka, typed.topic) == typed.json_records


def grow(*files: Lines) -> None:
    for one in files:
        one.grow()


def running(worker: Worker, lines: Lines) -> object:
    """What a worker says of a connector whose task runs; else None."""
    return worker.running_on(lines.name) and worker.ask("GET", f"/connectors/{lines.name}")


def own_offset(lines: Lines, worker: Worker) -> dict[str, object]:
    """The offset at the end of the file; the file connector adds a fingerprint to Kafka Connect's position."""
    stored = worker.ask("GET", f"/connectors/{lines.name}/offsets")["offsets"][0]["offset"]
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
    """SCH-11."""
    lines = Lines(tmp_path / "lines.txt", topic(), **JSON)
    first, second = (None, launch_eosfw) if killed == "connect" else (launch_eosfw, None)
    with LiveReader(real_kafka, lines.topic) as reader:
        one = start(first)
        one.configure("lines", lines.config)
        lines.grow()
        assert reader.wait_for(LINES // 10), one.program.output()[-3000:]
        one.program.kill()

        lines.grow()
        until_empty(real_kafka, group)
        other = start(second)
        until_read(reader, lines, other)

    assert read_pairs(real_kafka, lines.topic) == lines.json_records


def test_a_group_with_a_live_connect_worker_is_not_joined(start, java, real_kafka, group, tmp_path) -> None:
    start()

    refused = Worker(java, tmp_path, group, real_kafka, launch_eosfw)

    assert refused.program.wait() == 3, refused.program.output()
    assert "Kafka Connect" in refused.program.output()
    assert "Traceback" not in refused.program.output()
