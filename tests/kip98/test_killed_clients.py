"""A killed or paused client loses at most its open transaction, without partial or duplicate records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import pytest

from eosfw.concurrency import Runtime
from eosfw.protocols import Backend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay, Lose
from kip98.clients import EMBEDDED, ClientOnCluster
from kip98.counter import Counter, Names
from kip98.remote_producer import TIMEOUT
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness

LAST: Final = 4
PARTITIONS: Final = 2
EXPECTED: Final = [str(number).encode() for number in range(LAST)] * PARTITIONS
REQUESTS: Final = (
    pytest.param("InitProducerId", 1, marks=pytest.mark.nightly),
    pytest.param("AddPartitionsToTxn", 1, marks=pytest.mark.nightly),
    ("Produce", 1),
    pytest.param("Produce", 2, marks=pytest.mark.nightly),
    pytest.param("AddOffsetsToTxn", 1, marks=pytest.mark.nightly),
    ("TxnOffsetCommit", 1),
    ("EndTxn", 1),
)
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module", params=[each for each in EMBEDDED if "memory" not in str(each.id)])
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client whose library is not ours."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def own_cluster(runtime: Runtime) -> Iterator[EmbeddedCluster]:
    """A broker that looks often for transactions beyond their time."""
    often = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    cluster = EmbeddedCluster.start(often, runtime)
    yield cluster
    cluster.close()


@pytest.fixture
def backend(way: ClientOnCluster, own_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client of the broker whose clients die."""
    return way.connect(own_cluster.bootstrap_servers, runtime)


@pytest.fixture
def start(way: ClientOnCluster, own_cluster: EmbeddedCluster) -> Iterator[Start]:
    """Start a process that counts, or one that opens a transaction."""
    running: list[subprocess.Popen[str]] = []

    def started(names: Names, until: int | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "kip98.remote_producer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            process_group=0,
        )
        running.append(process)
        properties = {"bootstrap.servers": own_cluster.bootstrap_servers, **way.properties}
        await_line(
            process,
            json.dumps({"backend": way.backend, "properties": properties, "names": names.words(), "until": until}),
        )
        return process

    yield started
    for process in running:
        process.kill()
        process.communicate()


def await_line(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(("request_", "nth"), REQUESTS)
def test_a_successor_of_a_killed_client_continues_after_its_commits(
    lab: BackendHarness, own_cluster: EmbeddedCluster, start: Start, request_: str, nth: int, moment: str
) -> None:
    """Killed with a request on its way, or with the answer on its way back; what comes late changes nothing."""
    counter = Counter(lab, Names.fresh(lab, PARTITIONS))
    first = counter.start()
    counter.count(first, 1, WAIT)
    first.close()
    strike: Callable[..., Delay | Lose] = Delay if moment == "before" else partial(Lose, silent=True)
    fault = own_cluster.faults.add(strike(request_, nth=nth, transactional_id=counter.own))
    doomed = start(counter.names, LAST)

    fault.await_fired(WAIT)
    doomed.kill()
    assert doomed.wait(WAIT) == -signal.SIGKILL
    if request_ == "InitProducerId":  # a dead client's claim is a claim: it comes first, or it shuts its successor out
        fault.release()
    successor = counter.start()
    fault.release()

    counter.count(successor, LAST, WAIT)
    assert counter.counted == EXPECTED


@pytest.mark.parametrize("order", ["commit", "send"])
def test_a_client_stopped_beyond_its_transaction_timeout_is_fenced(
    lab: BackendHarness, own_cluster: EmbeddedCluster, start: Start, order: str
) -> None:
    """COR-15: stopped by SIGSTOP beyond transaction.timeout.ms, then continued."""
    names = Names.fresh(lab)
    sleeper = start(names)
    assert heard(sleeper) == "open"
    os.kill(sleeper.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
    own_cluster.broker.jump(TIMEOUT + 1)
    assert lab.values(names.topic) == []  # waits until the transaction is decided

    await_line(sleeper, order)
    os.kill(sleeper.pid, signal.SIGCONT)

    assert heard(sleeper) == "ProducerFencedError"
    assert lab.values(names.topic) == []
    assert lab.values(names.topic, UNCOMMITTED) == [b"outslept"]
    successor = lab.open_transaction(names.topic, b"again", transactional_id=names.own)
    successor.commit_transaction(WAIT)
    assert lab.values(names.topic) == [b"again"]
