"""A whole worker sleeps, or dies, in a process of its own; nothing is lost or repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from tests.child_pytest import WITHOUT_PLUGINS
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.state.steps import TaskStep
from pytest_eos.environment.clusters.cluster import Cluster, runtime
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.processes import os_processes

pytest_plugins = ("pytester",)
CONNECTOR = f"{CounterConnector.__module__}:{CounterConnector.__name__}"
READ_COMMITTED, READ_UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
ROOT = Path(__file__).parents[2]
WORLDS = {
    "memory": ("memory", "embedded"),
    "confluent": ("confluent", "embedded"),
    "confluent-kafka": ("confluent", "real_kafka"),
    "kafka-python": ("kafka-python", "embedded"),
    "memory-kafka": ("memory", "real_kafka"),
}
EVERYWHERE = pytest.mark.parametrize(
    "world",
    [
        pytest.param(world, id=name, marks=[*([pytest.mark.kafka] if world[1] == "real_kafka" else []), *nightly])
        for name, world in WORLDS.items()
        for nightly in [[pytest.mark.nightly] if name in ("kafka-python", "memory-kafka") else []]
    ],
)
pytestmark = [pytest.mark.timeout(600), pytest.mark.eos_clock("real")]


@pytest.fixture
def world(request):
    return getattr(request, "param", WORLDS["memory"])


@pytest.fixture
def eos_backend(world):
    return world[0]


@pytest.fixture
def eos_cluster(request, world):
    """In the place of the plugin's own: embedded, or a real Kafka; both look for expired transactions often."""
    if world[1] == "real_kafka":
        yield Cluster(request.getfixturevalue("real_kafka"))
        return
    often = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    local = installed_plugins().cluster("memory").start(often, runtime())
    yield Cluster(local.bootstrap_servers, local)
    local.close()


@pytest.fixture
def properties(eos):
    """So much in one poll that the client must send it before its commit: memory by 1 MiB, confluent by 4 KiB."""
    batch, width = 2_000, 1_000 if eos.backend_name == "memory" else 0
    given = {"topic": f"counts-{eos.fresh_group()}", "tasks.max": 2, "streams": 2, "until": 2 * batch, "batch": batch}
    given["width"] = width
    return {**given, "producer.override.buffer.memory": 4096}


def put_successor(eos, process, properties):
    """Have a worker of this process take the group over, with one task less; return its run."""
    worker = eos.worker(process.group)
    run = eos.create_run(CounterConnector, {**properties, "tasks.max": 1}, name=process.name, worker=worker)
    worker.put(run.name, run.properties)
    worker.until_drained()
    return run


@pytest.fixture
def short(eos, properties):
    """The same with transactions that time out; where the broker's clock can be put forward, none does by itself."""
    seconds = 60 if eos.cluster.local else 5
    return {**properties, "producer.override.transaction.timeout.ms": 1000 * seconds}


def await_timeout(eos, topic):
    """Wait until the coordinator has aborted what is open in the topic."""
    await_undecided(eos, topic)
    if eos.cluster.local:
        eos.cluster.local.broker.jump(61)
    eos.topic(topic).ranges()  # returns when nothing in the topic is undecided


def await_undecided(eos, topic):
    """Wait until records of an open transaction lie in the topic."""
    with closing(eos.backend.admin()) as admin:

        def undecided():
            ones = [TopicPartition(topic, n) for n in range(admin.partitions([topic])[topic])]
            stable, written = (admin.end_offsets(ones, level) for level in (READ_COMMITTED, READ_UNCOMMITTED))
            return any(stable[one] < written[one] for one in ones)

        eos.waiter.until(undecided, "an open transaction")


@EVERYWHERE
@pytest.mark.parametrize("step", [pytest.param("send-offsets", marks=pytest.mark.nightly), "commit"])
def test_a_process_that_sleeps_in_its_transaction_is_fenced_when_it_wakes(eos, zombies, properties, step):
    """TXN-02: SIGSTOP, a new run of the group, SIGCONT; the old run finds itself superseded."""
    process = zombies.process(CONNECTOR, properties, at=step, nth=2).await_frozen()

    run = put_successor(eos, process, properties)
    status = process.wake().await_end()

    assert status == 5
    assert process.fenced
    eos.assert_exactly_once(properties["topic"], run.source_records())


@EVERYWHERE
def test_a_process_that_dies_in_its_transaction_leaves_nothing_behind(eos, zombies, properties):
    """TXN-02: SIGKILL between send and commit; what it had sent is aborted by its successor's fencing."""
    process = zombies.process(CONNECTOR, properties, at="commit", nth=2).await_frozen()
    await_undecided(eos, properties["topic"])

    process.kill()
    run = put_successor(eos, process, properties)

    eos.assert_exactly_once(properties["topic"], run.source_records())


@EVERYWHERE
def test_a_process_paused_past_its_transaction_timeout_restarts_without_duplicates(eos, zombies, short):
    """COR-15: the coordinator aborted its transaction; still the owner, it runs the whole protocol again."""
    process = zombies.process(CONNECTOR, short, at="commit", nth=2).await_frozen()

    await_timeout(eos, short["topic"])
    status = process.wake().await_end()

    assert status == 0
    starts = Counter(event.task for event in process.history.events() if event.step is TaskStep.INIT_PRODUCER)
    # At least: on a busy machine it may oversleep once more.
    assert max(starts.values()) >= 2
    eos.assert_exactly_once(short["topic"], process.source_records())


SLEEPY = """
import os, sys, threading
from eosfw.state.steps import StepEvent, TaskStep
from pytest_eos.worker_process_main import ProcessStopper

def task():
    # This processor is the task's alone, as good as: the main thread gets a turn when nobody else wants one.
    os.sched_setaffinity(0, {next(iter(os.sched_getaffinity(0)))})
    os.sched_setaffinity(MAIN, os.sched_getaffinity(0))
    os.sched_setscheduler(MAIN, os.SCHED_IDLE, os.sched_param(0))
    ProcessStopper(TaskStep.COMMIT, 1).observe(StepEvent(TaskStep.COMMIT, 0.0, 0.0, "counter"))
    os.write(1, b"committed")

MAIN = threading.get_native_id()
one = threading.Thread(target=task)
one.start()
one.join()
"""


def test_a_task_takes_no_step_after_its_process_stops():
    """TXN-02: not even where the process's other threads are long in coming to their stop."""
    with subprocess.Popen([sys.executable, "-c", SLEEPY], stdout=subprocess.PIPE) as process:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        process.kill()
        message = process.communicate()[0]

    assert message == b""


# --- what a test with processes can do wrong

HEAD = f"""
import os, pathlib, pytest
pytestmark = pytest.mark.eos_clock("real")
CONNECTOR = {CONNECTOR!r}
"""


def test_a_process_that_never_came_to_its_step_fails_the_test(pytester):
    """A step that was never reached proves nothing, whether the test waited for it or not."""
    pytester.makepyfile(
        HEAD
        + """
def test_waited(zombies):
    zombies.process(CONNECTOR, {"topic": "counts"}, at="commit", nth=1000).await_frozen()

def test_not_waited(zombies):
    zombies.process(CONNECTOR, {"topic": "counts"}, at="commit", nth=1000)

def test_not_woken(zombies):
    zombies.process(CONNECTOR, {"topic": "counts"}, at="commit").await_frozen()
"""
    )

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*before commit was not seen frozen there for the 1000. time (nth=1000). The process ended with status 0 *",
            "*the zombie never rose: process * before commit*",
            "*the zombie was never woken, nor killed: process *",
        ]
    )


@pytest.mark.parametrize(
    ("connector", "message"),
    [
        ("nowhere:Class", "connector 'nowhere:Class', to be written as module:Class: No module named 'nowhere'"),
        ("counter", "cannot import connector 'counter', to be written as module:Class: "),
    ],
)
def test_a_connector_that_a_process_cannot_import_is_named(pytester, connector, message):
    """Bad input: one line, no traceback."""
    pytester.makepyfile(
        HEAD
        + f"""
def test_it(zombies):
    zombies.process({connector!r}, {{"topic": "counts"}}, at="commit").await_frozen()
"""
    )

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ended with status 3, before any step.", f"pytest-eos: *{message}*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_failing_test_leaves_no_process_behind(pytester):
    """A failed test ends its process, whether it is frozen, running or woken."""
    pytester.makepyfile(
        HEAD
        + """
@pytest.mark.parametrize("how", ["frozen", "at-work", "woken"])
def test_it(eos, zombies, how):
    process = zombies.process(CONNECTOR, {"topic": "counts", "until": 100000}, at="commit", nth=2)
    pathlib.Path(how + ".pid").write_text(str(process.pid))
    if how != "at-work":
        process.await_frozen()
    if how == "woken":
        process.wake()
    assert False, "on purpose"
"""
    )

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(failed=3)
    pids = [int(file.read_text()) for file in pytester.path.glob("*.pid")]
    assert len(pids) == 3
    assert not any(map(os_processes.is_alive, pids))


@pytest.mark.parametrize("how", ["frozen", "at-work"])
def test_a_process_ends_when_pytest_itself_is_killed(tmp_path, how):
    """No fixture can clean up: the system wakes and ends a stopped orphan; a running one sees its stdin close."""
    waits = "process.await_frozen()" if how == "frozen" else "process._eos.waiter.until(process.history.events, 'work')"
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(
        HEAD
        + f"""
def test_it(eos, zombies):
    properties = {{"topic": "counts", "until": 1_000_000_000}}
    process = zombies.process(CONNECTOR, properties, at="commit", nth={2 if how == "frozen" else 10**9})
    {waits}
    os.write(1, b"pid %d\\n" % process.pid)
    eos.waiter.until(lambda: False, "the end")
""",
        encoding="utf-8",
    )
    quiet = ["-q", "-s", "-p", "no:cacheprovider", *WITHOUT_PLUGINS, "-c", "pytest.ini"]
    outer = subprocess.Popen(
        [sys.executable, "-m", "pytest", *quiet, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    message = next(line for line in outer.stdout if "pid " in line)
    outer.send_signal(signal.SIGKILL)
    outer.wait()
    outer.stdout.close()

    pid, clock = int(message.split()[-1]), ThreadRuntime()
    deadline = clock.now() + 60
    while os_processes.is_alive(pid) and clock.now() < deadline:
        clock.sleep(0.02)

    assert not os_processes.is_alive(pid)
