"""A client may go at any moment of its calls."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Producer

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import IllegalStateError, ProducerFencedError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, IsolationLevel
from eosfw.records import ProducerBatch
from eosfw.registry import load_plugins
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay, Fail

WAIT = 20.0
"""Seconds; an answer may take 30."""

SCRIPT = """
import sys
from eosfw.records import ProducerBatch
from eosfw.registry import load_plugins
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster

runtime = ThreadRuntime()
cluster = EmbeddedCluster.start({}, runtime)
backend = load_plugins().backend("confluent").connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)

def come_and_go(which):
    for moment in range(25):
        producer = backend.producer(f"id-{which}")
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.send_batch(ProducerBatch("t", [b"v"], partition=0))
        runtime.sleep(moment * 0.0001)
        producer.close()

tasks = [runtime.spawn(f"task-{which}", lambda which=which: come_and_go(which)) for which in range(int(sys.argv[1]))]
for task in tasks:
    task.join(120)
print("outlived them all", flush=True)
"""


@pytest.mark.parametrize("threads", ["2", pytest.param("8", marks=pytest.mark.nightly)])
def test_closing_a_producer_right_after_a_send_does_not_crash(threads: str) -> None:
    """Otherwise librdkafka's `Assertion rk->rk_eos.txn_req_cnt > 0` would end the process with all its tasks."""
    command = [sys.executable, "-c", SCRIPT, threads]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "outlived them all\n", "")


@pytest.mark.parametrize(
    ("request_", "call"),
    [
        ("ListOffsets", lambda admin: admin.end_offsets([TopicPartition("t", 0)], IsolationLevel.READ_COMMITTED)),
        ("Metadata", lambda admin: admin.partitions()),
    ],
)
def test_a_call_of_an_admin_client_that_is_closed_ends(request_: str, call: Callable[[Admin], object]) -> None:
    """OFF-11: librdkafka answers nothing any more, and the call would wait as long as an answer may take."""
    runtime, ends = ThreadRuntime(), list[Exception]()
    with closing(EmbeddedCluster.start({}, runtime)) as cluster:
        cluster.broker.topics.create("t", 1, {})
        backend = load_plugins().backend("confluent").connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
        admin = backend.admin()
        assert admin.partitions() == {"t": 1}
        unanswered = cluster.faults.add(Delay(request_, seconds=600.0))

        def look() -> None:
            try:
                call(admin)
            except IllegalStateError as why:
                ends.append(why)

        thread = runtime.spawn("look", look)
        unanswered.await_fired(WAIT)
        admin.close()

        assert thread.join(WAIT)
        assert "closed" in str(ends[0])
        backend.close()


def librdkafka_producers() -> list[Producer]:
    gc.collect()
    # isinstance would follow a weak proxy of another test to an object that is gone.
    return [each for each in gc.get_objects() if issubclass(type(each), Producer)]


@pytest.mark.parametrize("request_", ["AddPartitionsToTxn", "EndTxn"])
def test_a_fenced_producer_that_is_closed_leaves_no_client(request_: str) -> None:
    """Else each zombie of a worker would keep threads, connections and descriptors, and look for a stopped broker."""
    runtime = ThreadRuntime()
    cluster = EmbeddedCluster.start({"auto.create.topics.enable": "true"}, runtime)
    backend = load_plugins().backend("confluent").connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    cluster.faults.add(Fail(request_, code="INVALID_PRODUCER_EPOCH", transactional_id="id"))
    others = librdkafka_producers()

    def fenced() -> None:
        with closing(backend.producer("id")) as producer:
            producer.init_transactions(60)
            producer.begin_transaction()
            producer.send_batch(ProducerBatch("t", [b"v"], partition=0))
            producer.flush(60)
            producer.commit_transaction(60)

    with pytest.raises(ProducerFencedError):
        fenced()

    assert [each for each in librdkafka_producers() if each not in others] == []
    backend.close()
    cluster.close()
