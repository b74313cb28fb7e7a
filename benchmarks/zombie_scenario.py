"""Measure zombies in virtual time: one scenario, a thousand interleavings of one, a whole pytest test.

Of clients: a producer's transaction outlives its timeout of 60 s and is aborted, a successor takes the id over and
commits, the zombie wakes and is fenced, everything committed is read again. Interleavings: two holders of one id, each
of which reads how far it was committed and goes on from there, start side by side.

Of workers: the same by tasks of a connector under the whole startup protocol; a task freezes before a commit, and what
was committed is compared with a replay of its source. Interleavings: it wakes while its successor starts.

Times are CPU seconds of this process, since it runs on one thread and the machine is shared; wall time stands beside.

    python benchmarks/zombie_scenario.py [--interleavings 1000]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
from benchmark import run_main, scaled, show

from eosfw.concurrency import Runtime
from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import ExactlyOnceSupport, SourceConnector, SourceTask, SourceTaskContext
from eosfw.errors import InvalidProducerEpochError, ProducerFencedError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel, NewTopic, TransactionalProducer
from eosfw.records import OffsetRange, ProducerRecord, SourceRecord
from pytest_eos.environment.clusters.cluster import virtual
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_harness import HarnessSettings

TIMEOUT, WAIT = 60.0, 30.0
GOAL = 3
ROUNDS = scaled(30)
HERE = Path(tempfile.gettempdir())


class CountTask(SourceTask):
    """Counts to a number, a few records a poll."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.topic, self.until = config["topic"], int(config["until"])
        self.at = (context.offset({"stream": "s"}) or {"at": 0})["at"]

    def poll(self) -> list[SourceRecord]:
        first, self.at = self.at, min(self.at + 2, self.until)
        return [
            SourceRecord(self.topic, b"%d" % n, source_partition={"stream": "s"}, source_offset={"at": n + 1})
            for n in range(first, self.at)
        ]

    def at_end(self) -> bool:
        return self.at >= self.until


class Count(SourceConnector):
    """One task."""

    name, task = "count", CountTask
    config = ConfigDef(Int("until", 4, "where to end"), String("topic", doc="where to"))

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{"topic": config["topic"], "until": str(config["until"])}]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


def timed_out(eos: EosHarness) -> None:
    """Freeze, time out, abort, fence, wake, read again."""
    run = eos.create_run(Count, {"tasks.max": 1})
    zombie = eos.zombies.task("commit", nth=2)
    run.group.put(run.name, run.properties)
    zombie.await_frozen()
    eos.runtime.sleep(TIMEOUT + 11)  # behind the coordinator's next look
    run.group.put(run.name, run.properties)
    run.group.until_drained()
    zombie.wake().await_end()
    run.group.stop()
    eos.assert_exactly_once(run, run.source_records())
    assert zombie.fenced or zombie.rose


def overtaken(eos: EosHarness) -> None:
    """A task that sleeps while it starts; its successor is at work when it wakes, wherever that is."""
    run = eos.create_run(Count, {"tasks.max": 1})
    zombie = eos.zombies.task("send", nth=1)
    run.group.put(run.name, run.properties)
    zombie.await_frozen()
    run.group.put(run.name, run.properties)
    zombie.wake().await_end()
    run.group.until_drained()
    run.group.stop()
    eos.assert_exactly_once(run, run.source_records())


# --- clients


def clients_timed_out(backend: Backend, runtime: Runtime) -> None:
    """Time out, abort, fence, wake, read again."""
    zombie, successor = (backend.producer("id", transaction_timeout=TIMEOUT) for _ in range(2))
    zombie.init_transactions(WAIT)
    zombie.begin_transaction()
    zombie.send(ProducerRecord("t", b"zombie", partition=0))
    zombie.flush(WAIT)
    runtime.sleep(TIMEOUT + 11)  # behind the coordinator's next look
    assert committed(backend) == []
    successor.init_transactions(WAIT)
    write(successor, 0)
    with pytest.raises((ProducerFencedError, InvalidProducerEpochError)):
        zombie.commit_transaction(WAIT)
    assert committed(backend) == [b"0"]


def clients_overtaken(backend: Backend, runtime: Runtime) -> None:
    """Start two holders of one id side by side."""
    holders = [runtime.spawn(f"holder {number}", lambda: hold(backend)) for number in range(2)]
    assert all(holder.join() for holder in holders)
    assert committed(backend) == [b"%d" % number for number in range(GOAL)]


def hold(backend: Backend) -> None:
    """Go on where the topic ends, up to the goal, unless somebody else takes over."""
    producer = backend.producer("id")
    try:
        producer.init_transactions(WAIT)
        for number in range(len(committed(backend)), GOAL):
            write(producer, number)
    except (ProducerFencedError, InvalidProducerEpochError):
        pass


def write(producer: TransactionalProducer, number: int) -> None:
    producer.begin_transaction()
    producer.send(ProducerRecord("t", b"%d" % number, partition=0))
    producer.commit_transaction(WAIT)


def committed(backend: Backend) -> list[bytes | None]:
    one = TopicPartition("t", 0)
    admin, reader = backend.admin(), backend.reader(IsolationLevel.READ_COMMITTED)
    end = admin.end_offsets([one], IsolationLevel.READ_UNCOMMITTED)[one]
    found = [value for batch in reader.read({one: OffsetRange(0, end)}, WAIT) for value in batch.values]
    admin.close()
    reader.close()
    return found


def play_clients(scenario: Callable[[Backend, Runtime], None], seed: int) -> None:
    with virtual(seed) as cluster:
        backend = installed_plugins().backend("memory").connect(cluster.client, cluster.runtime)
        with closing(backend):
            backend.admin().create_topics([NewTopic("t", 1)])
            scenario(backend, cluster.runtime)


# --- workers


def play(scenario: Callable[[EosHarness], None], seed: int) -> None:
    with (
        virtual(seed) as cluster,
        EosHarness(cluster, "memory", HarnessSettings("scenario", HERE, seed, 3600.0)) as eos,
    ):
        scenario(eos)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds, wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def milliseconds(once: Callable[[int], None]) -> dict[str, float]:
    once(1)
    rounds = [measured(partial(once, seed)) for seed in range(1, ROUNDS + 1)]
    return {
        "cpu_ms": round(statistics.median(cpu for cpu, _ in rounds) * 1000, 2),
        "wall_ms": round(statistics.median(wall for _, wall in rounds) * 1000, 2),
        "best_ms": round(min(wall for _, wall in rounds) * 1000, 2),
    }


def interleavings(once: Callable[[int], None], count: int) -> dict[str, float]:
    cpu, wall = measured(lambda: [once(seed) for seed in range(1, count + 1)])
    return {"count": count, "cpu_s": round(cpu, 2), "wall_s": round(wall, 2)}


class _Durations:
    """A plugin that notes how long each test took, set up and torn down."""

    def __init__(self) -> None:
        self.of: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert not report.failed, report.longreprtext
        self.of[report.nodeid] = self.of.get(report.nodeid, 0.0) + report.duration


def pytest_test() -> dict[str, float]:
    """One marked test per step of a transaction; the first one of a session also loads the framework."""
    with tempfile.TemporaryDirectory() as folder:
        test = """
            import pytest
            from zombie_scenario import Count

            @pytest.mark.eos_zombie(at="transaction")
            def test_nothing_twice(eos):
                run = eos.run(Count)
                eos.assert_exactly_once(run, run.source_records())
        """
        path = Path(folder) / "test_zombies.py"
        path.write_text(dedent(test))
        durations = _Durations()
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main(
                [str(path), "-q", "-p", "no:cacheprovider", "--rootdir", folder, "-c", "/dev/null"], [durations]
            )
        taken = [seconds * 1000 for seconds in durations.of.values()]
    return {"tests": len(taken), "median_ms": round(statistics.median(taken), 1), "worst_ms": round(max(taken), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interleavings", type=int, default=scaled(1000))
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    found = {
        "clients, a timeout of 60 s": milliseconds(partial(play_clients, clients_timed_out)),
        "clients, interleavings": interleavings(partial(play_clients, clients_overtaken), given.interleavings),
        "workers, a timeout of 60 s": milliseconds(partial(play, timed_out)),
        "workers, interleavings": interleavings(partial(play, overtaken), given.interleavings),
        "pytest": pytest_test(),
    }
    show(found)


if __name__ == "__main__":
    run_main(main)
