"""`eosfw worker` as processes, reached by REST, on an embedded broker over a socket."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from tests.cli.conftest import Running, Start

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from eosfw.registry import load_plugins
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay

RUNTIME = ThreadRuntime()


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an embedded broker on a port of its own, or of what else the test names."""
    if hasattr(request, "param"):
        yield request.getfixturevalue(request.param)
        return
    cluster = load_plugins().cluster("memory").start({}, RUNTIME)
    yield cluster.bootstrap_servers
    cluster.close()


@pytest.fixture
def group() -> str:
    """A group id of the test's own, also for its topics: a real Kafka is shared."""
    return f"demo-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def worker_file(served: str, group: str, tmp_path: Path) -> Callable[..., Path]:
    """Write the properties of a worker."""

    def write(**more: str) -> Path:
        properties = {
            "bootstrap.servers": served,
            "group.id": group,
            "exactly.once.source.support": "enabled",
            "listeners": "http://127.0.0.1:0",
            "offset.storage.partitions": "1",
            **{name.replace("_", "."): text for name, text in more.items()},
        }
        path = tmp_path / "worker.properties"
        path.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
        return path

    return write


def event(running: Running, name: str) -> dict[str, Any]:
    """Wait for an event that the worker prints."""

    def found() -> dict[str, Any] | None:
        events = [json.loads(line) for line in running.out().splitlines()]
        return next((one for one in events if one["event"] == name), None)

    running.until(found)
    return found() or {}


def call(url: str, method: str = "GET", body: object = None) -> Any:
    """Send a request; return the body of the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def call_group(running: Running, url: str, method: str = "GET", body: object = None) -> Any:
    """Send a request, again for as long as the group rebalances (409) or its worker still starts (503)."""
    answers: list[Any] = []

    def answered() -> list[Any]:
        with refused_with(409, 503):
            answers.append(call(url, method, body))
        return answers

    running.until(answered)
    return answers[0]


@contextmanager
def refused_with(*codes: int) -> Iterator[None]:
    """Pass over a refusal with one of these statuses."""
    try:
        yield
    except HTTPError as refused:
        refused.close()
        if refused.code not in codes:
            raise


def committed(served: str, topic: str) -> list[bytes]:
    """The committed values of a topic with one partition."""
    backend = load_plugins().backend("memory").connect({"bootstrap.servers": served}, RUNTIME)
    partition = TopicPartition(topic, 0)
    try:
        if topic not in backend.admin().partitions([topic]):
            return []
        end = backend.admin().end_offsets([partition], IsolationLevel.READ_COMMITTED)[partition]
        batches = backend.reader(IsolationLevel.READ_COMMITTED).read({partition: OffsetRange(0, end)}, 10)
        return [value for batch in batches for value in batch.values if value is not None]
    finally:
        backend.close()


def test_worker_that_starts_again_goes_on_where_it_was_stopped(start: Start, worker_file, served, tmp_path) -> None:
    """SIGTERM is a clean end, code 0; connectors and offsets are in the cluster, not in a file."""
    source = tmp_path / "source.txt"
    source.write_text("1\n2\n")
    config = {"connector.class": "file", "file": str(source), "topic": "lines"}

    first = start("worker", worker_file(), "--backend", "memory", "--json")
    started = event(first, "started")
    event(first, "leads")
    call_group(first, f"{started['url']}/connectors", "POST", {"name": "files", "config": config})
    first.until(lambda: committed(served, "lines") == [b"1", b"2"])
    first.send(signal.SIGTERM)
    assert first.end() == 0, first.err()

    source.write_text("1\n2\n3\n")
    second = start("worker", worker_file(), "--backend", "memory", "--json")
    url = event(second, "started")["url"]
    second.until(lambda: committed(served, "lines") == [b"1", b"2", b"3"])
    here = [url.split("//")[1]]
    status = f"{url}/connectors/files/status"
    second.until(lambda: [one["worker_id"] for one in call_group(second, status)["tasks"]] == here)
    second.send(signal.SIGINT)
    assert second.end() == 130, second.err()
    assert "Traceback" not in first.err() + second.err()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[worker]\n[connectors.c]\n[cluster]\n", "unknown section 'connectors'; a worker's file has [cluster] and"),
        ("group.id=g\n", "name the cluster that all workers of the group reach: bootstrap.servers=HOST:PORT"),
        ("bootstrap.servers=127.0.0.1:1\n", 'Missing required configuration "group.id" which has no default value'),
        ("bootstrap.servers=127.0.0.1:1\ngroup.id=g\ngroup.ids=h\n", "unknown configuration 'group.ids'; did you mean"),
        ("bootstrap.servers=nowhere\ngroup.id=g\n", "write HOST:PORT, with a port between 1 and 65535"),
        ("bootstrap.servers=127.0.0.1:1\ngroup.id=g\nlisteners=http://0.0.0.0:8083\n", "listeners"),
        (
            "bootstrap.servers=127.0.0.1:1\ngroup.id=g\ntask.isolation=process\n",
            "worker.properties: task.isolation=process is for `eosfw run`: remove it, and start another worker of the",
        ),
    ],
)
def test_worker_with_bad_properties_ends_with_one_sentence(command, tmp_path, text, sentence) -> None:
    path = tmp_path / f"worker.{'toml' if text.startswith('[') else 'properties'}"
    path.write_text(text)
    run = command("worker", path, "--backend", "memory")
    assert run.end() == 3, run.err()
    assert sentence in run.err()
    assert len(run.err().splitlines()) == 1
    assert run.out() == ""


def test_worker_with_a_client_property_of_no_meaning_ends_with_one_sentence(command, served, tmp_path) -> None:
    """What its clients would be made with is checked before any of them."""
    path = tmp_path / "worker.properties"
    listening = "listeners=http://127.0.0.1:0"
    path.write_text(f"bootstrap.servers={served}\ngroup.id=g\n{listening}\nconsumer.isolation.level=serializable\n")
    run = command("worker", path, "--backend", "memory")
    assert run.end() == 3, run.err()
    (line,) = run.err().splitlines()
    assert "Invalid value serializable for configuration consumer.isolation.level: must be read_committed or" in line


def test_worker_file_may_be_toml(start: Start, served, tmp_path) -> None:
    path = tmp_path / "worker.toml"
    path.write_text(
        f"""[cluster]
backend = "memory"
"bootstrap.servers" = "{served}"
[worker]
"group.id" = "demo"
listeners = ["http://127.0.0.1:0"]
"""
    )
    run = start("worker", path)
    run.until(lambda: "leads the group" in run.out())
    assert "worker " in run.out()
    assert "of group demo; REST interface at http://127.0.0.1:" in run.out()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("backend", "served"),
    [
        pytest.param("memory", "embedded", id="memory"),
        # Of the clients here one with a real Kafka says more than all with the embedded broker, and costs as much.
        pytest.param("confluent", "embedded", id="confluent", marks=pytest.mark.nightly),
        pytest.param("kafka-python", "embedded", id="kafka-python", marks=pytest.mark.nightly),
        pytest.param("confluent", "real_kafka", id="confluent-kafka", marks=pytest.mark.kafka),
    ],
    indirect=["served"],
)
def test_group_of_three_loses_and_repeats_nothing_when_its_leader_is_killed(
    start: Start, worker_file, served, group, tmp_path, backend
) -> None:
    """SCN-06: any worker answers; the tasks of the one that is gone go to the others, each record is there once."""
    folder = tmp_path / "sources"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text("".join(f"{number}:{line}\n" for line in range(20)))
    timeouts = {
        "session_timeout_ms": "6000",
        "heartbeat_interval_ms": "1500",
        "scheduled_rebalance_max_delay_ms": "0",
    }
    workers = [start("worker", worker_file(**timeouts), "--backend", backend, "--json") for _ in range(3)]
    urls = [str(event(one, "started")["url"]) for one in workers]
    config = {
        "connector.class": "file",
        "file": str(folder / "*.txt"),
        "topic": group,
        "tasks.max": "6",
        "batch.size": "5",
    }
    call_group(workers[2], f"{urls[2]}/connectors", "POST", {"name": "files", "config": config})

    def owners() -> set[str]:
        with refused_with(404, 409, 503):  # it may not have heard of the connector yet
            tasks = call(f"{urls[1]}/connectors/files/status")["tasks"]
            return {task["worker_id"] for task in tasks if task["state"] == "RUNNING"}
        return set()

    workers[1].until(lambda: len(committed(served, group)) == 120 and len(owners()) == 3)
    leading = next(one for one in workers if '"leads"' in one.out())
    gone = workers.index(leading)
    leading.send(signal.SIGKILL)
    leading.end()
    rest = [url for number, url in enumerate(urls) if number != gone]
    left = [one for one in workers if one is not leading]
    for number in range(6):
        with (folder / f"{number}.txt").open("a") as file:
            file.writelines(f"{number}:{line}\n" for line in range(20, 40))
    expected = sorted(f"{number}:{line}".encode() for number in range(6) for line in range(40))
    left[0].until(lambda: len(committed(served, group)) >= len(expected))
    assert sorted(committed(served, group)) == expected
    left[0].until(lambda: any('"leads"' in one.out() for one in left))
    again = {"name": "again", "config": {**config, "topic": f"{group}-again"}}
    created = call_group(left[0], f"{rest[0]}/connectors", "POST", again)
    assert created["name"] == "again"
    left[0].until(lambda: sorted(committed(served, f"{group}-again")) == expected)
    for one in left:
        one.send(signal.SIGTERM)
    assert [one.end() for one in left] == [0, 0], [one.err() for one in left]


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
def test_worker_that_waits_for_its_cluster_stops_soon(start: Start, tmp_path, backend: str) -> None:
    """A broker that was cut off: a call waits 30 s, and a supervisor maybe not so long."""
    with closing(EmbeddedCluster.start({}, RUNTIME)) as cluster:
        cut = cluster.faults.add(Delay("Metadata", seconds=60.0, times=99))
        path = tmp_path / "worker.properties"
        path.write_text(f"bootstrap.servers={cluster.bootstrap_servers}\ngroup.id=g\nlisteners=http://127.0.0.1:0\n")
        run = start("worker", path, "--backend", backend)
        run.until(lambda: bool(cut.firings))
        begun = time.monotonic()
        run.send(signal.SIGTERM)

        assert run.end() == 0, run.err()
        assert time.monotonic() - begun < 15
    assert run.err().splitlines() == ["eosfw: stopping cleanly; once more to stop at once"]
