"""Copies of offsets in the worker's topic hold up and fail no task, and come in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.concurrency import ThreadRuntime
from eosfw.config.worker import WORKER
from eosfw.errors import ClusterUnavailableError, EosfwError, TaskFailedError, UnsupportedError
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import ProducerRecord
from eosfw.runtime.status import TaskState
from eosfw.runtime.storage import offset_backup
from eosfw.runtime.storage.connector_offset_backing_store import ConnectorOffsetBackingStore, OffsetTopics
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.runtime.storage.offset_backup import OffsetBackup
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader

from ..fake_cluster import FakeAdmin, FakeBackend, FakeCluster, FakeProducer
from ..worker_harness import PATIENCE, WorkerHarness

RUNTIME = ThreadRuntime()
COPY = "send g-offsets"
UNREACHABLE = ClusterUnavailableError("no broker answered at h:1")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_backup, "PAUSES", (0.0, 0.0))


def run_own(cluster: FakeCluster | None = None, until: int = 3, **worker: str) -> WorkerHarness:
    """Run the counting connector with an offsets topic of its own to its end, and stop the worker."""
    with WorkerHarness(cluster=cluster, **worker) as stage:
        stage.put("c", streams="1", until=str(until), offsets_storage_topic="own")
        stage.until_drained()
    return stage


def log(cluster: FakeCluster, topic: str) -> list[Any]:
    return [entry for partition, entries in cluster.logs.items() if partition.topic == topic for entry in entries]


# --- of a task


def test_copies_are_written_by_the_worker_without_a_transaction():
    """OFF-09, OFF-17: the connector's own principal writes nothing to the shared topic."""
    with WorkerHarness(producer_linger_ms="1") as stage:
        stage.put("c", streams="1", until="3", offsets_storage_topic="own", producer_override_linger_ms="2")
        stage.until_drained()

    _, task, copies = [made for made in stage.cluster.made if made.kind == "producer"]
    assert (task.transactional_id, task.properties["linger.ms"]) == ("g-c-0", "2")
    assert (copies.transactional_id, copies.properties["linger.ms"], copies.properties["acks"]) == (None, "1", "all")
    assert {entry.txn is None for entry in log(stage.cluster, "g-offsets")} == {True}
    assert {entry.txn is None for entry in log(stage.cluster, "own")} == {False}
    assert log(stage.cluster, "g-offsets")[-1].value == log(stage.cluster, "own")[-1].value == b'{"next":3}'


def test_a_failed_copy_is_repeated():
    """OFF-09."""
    cluster = FakeCluster()
    cluster.fail[COPY] = [UNREACHABLE]
    stage = run_own(cluster)

    (task,) = stage.worker.status().tasks
    assert task.offset_backup_failures == 0
    assert log(cluster, "g-offsets")[-1].value == b'{"next":3}'


def test_copies_that_fail_for_good_are_counted_and_fail_no_task(caplog):
    """OFF-09: the task goes on, and a later copy says all that the failed ones would have said."""
    cluster = FakeCluster()
    cluster.fail[COPY] = [UNREACHABLE] * 100
    stage = run_own(cluster)

    (task,) = stage.worker.status().tasks
    assert task.state is TaskState.STOPPED
    assert task.offset_backup_failures >= 1
    assert cluster.committed("t") == [b"s0:0", b"s0:1", b"s0:2"]
    assert log(cluster, "own")[-1].value == b'{"next":3}'
    assert log(cluster, "g-offsets") == []
    assert "source offsets were not copied to the worker's offsets topic: no broker answered at h:1" in caplog.text


def test_a_copy_that_hangs_holds_up_no_task():
    """OFF-09: only its own thread waits."""
    cluster, hangs, released = FakeCluster(), threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        assert released.wait(PATIENCE)

    cluster.fail[COPY] = [hang]
    with WorkerHarness(cluster=cluster) as stage:
        stage.put("c", streams="1", until="20", offsets_storage_topic="own")
        stage.until_drained()
        assert hangs.wait(PATIENCE)
        assert log(cluster, "own")[-1].value == b'{"next":20}'
        assert log(cluster, "g-offsets") == []
        released.set()
    assert log(cluster, "g-offsets")[-1].value == b'{"next":20}'


COMMITTED, UNCOMMITTED = "reader at read_committed", "reader at read_uncommitted"


@pytest.mark.parametrize(
    ("support", "given", "readers"),
    [
        ("disabled", {}, [COMMITTED, UNCOMMITTED]),
        ("disabled", {"consumer_override_isolation_level": "read_uncommitted"}, [UNCOMMITTED, UNCOMMITTED]),
        ("enabled", {"consumer_override_isolation_level": "read_uncommitted"}, [COMMITTED, COMMITTED]),
    ],
)
def test_an_own_topic_is_read_committed_unless_a_user_says_otherwise(support, given, readers):
    """CFG-09: but with exactly-once nobody can say otherwise."""
    with WorkerHarness(exactly_once_source_support=support) as stage:
        before = len(stage.cluster.made)
        stage.put("c", streams="1", until="1", offsets_storage_topic="own", **given)
        stage.until_drained()
        made = [one.kind for one in stage.cluster.made[before:] if one.kind.startswith("reader")]
    # The reader of the config topic, with exactly-once, comes before those of the two offsets topics.
    assert made[-2:] == readers


@pytest.mark.parametrize(
    ("support", "setting"),
    [("enabled", "exactly.once.source.support=enabled"), ("disabled", "isolation.level=read_committed")],
)
def test_a_broker_that_tells_no_end_offsets_is_refused_with_the_setting(monkeypatch, support, setting):
    """OFF-12: the setting that needs them can be changed; the task has not started."""
    found = FakeAdmin.end_offsets

    def end_offsets(admin: FakeAdmin, partitions: Any, isolation: IsolationLevel) -> Any:
        if any(one.topic == "own" for one in partitions):
            raise UnsupportedError("the broker has no ListOffsets of version 1")
        return found(admin, partitions, isolation)

    monkeypatch.setattr(FakeAdmin, "end_offsets", end_offsets)
    with WorkerHarness(exactly_once_source_support=support) as stage:
        stage.put("c", streams="1", until="1", offsets_storage_topic="own")
        (task,) = stage.until_ended()

    assert task.state is TaskState.FAILED
    assert f"{setting} needs a broker that tells admin clients the end offsets of topic own" in str(task.error)
    assert stage.cluster.committed("t") == []


# --- forgetting


def backing(cluster: FakeCluster) -> tuple[ConnectorOffsetBackingStore, GlobalOffsetBackingStore]:
    """The offsets of a connector whose own topic has the partition a, and the worker's topic a and b."""
    config = WORKER.parse({"group.id": "g", "exactly.once.source.support": "enabled"})
    backend: Any = FakeBackend(cluster)
    for topic, keys in (("own", "a"), ("g-offsets", "ab")):
        FakeAdmin(cluster).create_topics([NewTopic(topic)])
        for key in keys:
            FakeProducer(cluster, None).send(ProducerRecord(topic, b'{"o":1}', b'["c",{"p":"%s"}]' % key.encode()))
    worker = GlobalOffsetBackingStore(config, backend, RUNTIME)
    topics = OffsetTopics(NewTopic("own"), IsolationLevel.READ_COMMITTED, "x=y", own=True)
    made = ConnectorOffsetBackingStore("c", topics, KafkaOffsetStore(), worker)
    made.load(OffsetStorageReader(backend.admin(), backend.reader(IsolationLevel.READ_COMMITTED), "x=y"))
    cluster.calls.clear()
    return made, worker


def test_a_forgotten_offset_leaves_the_workers_topic_before_the_commit():
    """OFF-10: and one that only the worker's topic has leaves it afterwards."""
    store, worker = backing(cluster := FakeCluster())
    changes = [({"p": "a"}, None), ({"p": "b"}, None), ({"p": "d"}, {"o": 4})]

    store.before_commit(changes, PATIENCE)
    assert [(entry.key, entry.value) for entry in log(cluster, "g-offsets")[2:]] == [(b'["c",{"p":"a"}]', None)]
    store.after_commit(changes)
    worker.close(PATIENCE)
    assert [(entry.key, entry.value) for entry in log(cluster, "g-offsets")[3:]] == [
        (b'["c",{"p":"d"}]', b'{"o":4}'),
        (b'["c",{"p":"b"}]', None),
    ]


def test_a_deletion_that_the_workers_topic_does_not_take_is_reported():
    """OFF-10: nothing is committed then, so that nothing can come back."""
    store, worker = backing(cluster := FakeCluster())
    cluster.fail[COPY] = [UNREACHABLE] * 100

    with pytest.raises(TaskFailedError, match=r"offsets topic g-offsets of the worker.*no broker answered at h:1"):
        store.before_commit([({"p": "a"}, None)], PATIENCE)
    worker.close(PATIENCE)


# --- the thread


class Recording:
    """A producer that records what it gets; `on_flush` may raise."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes | None, bytes | None]] = []
        self.on_flush: Callable[[], None] = lambda: None

    def send(self, record: ProducerRecord) -> None:
        self.sent.append((record.key, record.value))

    def flush(self, timeout: float) -> None:
        self.on_flush()

    def close(self, timeout: float = 0.0) -> None:
        pass


def one(key: bytes, value: bytes | None = b"1") -> ProducerRecord:
    return ProducerRecord("offsets", value, key)


@pytest.fixture
def producer() -> Recording:
    return Recording()


@pytest.fixture
def busy(producer: Recording) -> tuple[OffsetBackup, threading.Event]:
    """A backup that is inside its first write until the event is set."""
    inside, released = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert released.wait(PATIENCE)

    producer.on_flush = wait
    made = OffsetBackup(lambda: producer, RUNTIME)  # type: ignore[arg-type, return-value]
    made.submit([one(b"first")], lambda _: None)
    assert inside.wait(PATIENCE)
    return made, released


def test_a_newer_offset_replaces_one_that_waits(busy, producer):
    """OFF-09: however slow the cluster is, one record for each key waits."""
    backup, released = busy
    outcomes: list[EosfwError | None] = []
    for value in (b"1", b"2", b"3"):
        backup.submit([one(b"a", value)], outcomes.append)
    backup.submit([one(b"b")], outcomes.append)
    released.set()
    backup.close(PATIENCE)

    assert producer.sent == [(b"first", b"1"), (b"a", b"3"), (b"b", b"1")]
    assert outcomes == [None] * 4


def test_more_keys_than_can_wait_are_refused_at_once(busy, producer, monkeypatch):
    """OFF-09: memory stays bounded; a key that waits already may change."""
    monkeypatch.setattr(offset_backup, "CAPACITY", 2)
    backup, released = busy
    outcomes: list[str] = []
    for key in (b"a", b"b", b"c", b"a"):
        backup.submit([one(key)], lambda failed: outcomes.append(str(failed)))

    assert outcomes == ["a source offset was not copied to the worker's topic: 2 others wait", "None"]
    released.set()
    backup.close(PATIENCE)


def test_what_waits_at_a_close_is_written_and_what_comes_later_refused(busy, producer):
    """OFF-09: a clean stop copies the last offsets."""
    backup, released = busy
    backup.submit([one(b"a")], lambda _: None)
    released.set()
    backup.close(PATIENCE)
    refused: list[EosfwError | None] = []
    backup.submit([one(b"b")], refused.append)

    assert producer.sent[-1] == (b"a", b"1")
    assert "the worker stops" in str(refused[0])


def test_a_write_that_takes_too_long_is_given_up(busy):
    """OFF-10: the topic is named."""
    backup, released = busy
    with pytest.raises(ClusterUnavailableError, match=r"topic offsets took no source offset within 0\.01 s"):
        backup.write([one(b"a", None)], 0.01)
    released.set()
    backup.close(PATIENCE)


def test_an_error_of_any_kind_ends_no_backup(producer):
    """OFF-09: the thread must not die of what a client raises."""
    backup = OffsetBackup(lambda: producer, RUNTIME)  # type: ignore[arg-type, return-value]
    producer.on_flush = lambda: {}["odd"]
    with pytest.raises(EosfwError, match="KeyError: 'odd'"):
        backup.write([one(b"a")], PATIENCE)
    producer.on_flush = lambda: None
    backup.write([one(b"a")], PATIENCE)
    backup.close(PATIENCE)


def test_a_connector_that_loses_its_own_topic_waits_for_the_last_copies(monkeypatch):
    """OFF-08, OFF-09: its next tasks know the worker's topic alone."""
    cluster, copying, awaited = FakeCluster(), threading.Event(), threading.Event()
    flush = OffsetBackup.flush

    def hang() -> None:
        copying.set()
        awaited.wait(PATIENCE)

    def noted_flush(backup: OffsetBackup, timeout: float) -> bool:
        awaited.set()
        return flush(backup, timeout)

    cluster.fail[COPY] = [hang]
    monkeypatch.setattr(OffsetBackup, "flush", noted_flush)
    with WorkerHarness(cluster=cluster) as stage:
        stage.put("c", streams="1", until="20", offsets_storage_topic="own")
        stage.until_drained()
        assert copying.wait(PATIENCE)
        stage.put("c", streams="1", until="22")
        stage.until_drained()

    assert cluster.committed("t") == [b"s0:%d" % number for number in range(22)]


def test_a_flush_that_takes_too_long_is_given_up(busy):
    """OFF-09: a stop of tasks is never held up for longer than it may take."""
    backup, released = busy
    assert not backup.flush(0.01)
    released.set()
    assert backup.flush(PATIENCE)
    assert backup.flush(0.0)
    backup.close(PATIENCE)
