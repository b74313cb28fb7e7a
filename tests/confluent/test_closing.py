"""A producer may go at any moment of its transaction."""

from __future__ import annotations

import subprocess
import sys

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

tasks = [runtime.spawn(f"task-{which}", lambda which=which: come_and_go(which)) for which in range(8)]
for task in tasks:
    task.join(120)
print("outlived them all", flush=True)
"""


def test_no_producer_that_goes_right_after_a_send_takes_its_process_along() -> None:
    """Otherwise librdkafka's `Assertion rk->rk_eos.txn_req_cnt > 0` would end the process with all its tasks."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "outlived them all\n", "")
