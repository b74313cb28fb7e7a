"""`task.isolation=process`: a task in a process of its own is exact, whatever ends that process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import TaskFailedError
from eosfw.pipeline import ClusterChoice, LocalRun, Options, Pipeline, RunControl, SilentReporter
from eosfw.pipeline import run as run_pipeline
from eosfw.pipeline.connector_run import drain
from eosfw.pipeline.local.hosting import HostChoice
from eosfw.records import LogBatch
from eosfw.registry import Plugins, load_plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin
from eosfw.runtime import TaskState
from eosfw.runtime.hosting import subprocess_host
from installation import install

HOUR = str(3_600_000)
UNTIL = 40


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """What is installed, with the connector in a folder that only `sys.path` of this process knows."""
    module = Path(__file__).with_name("perilous_connector.py")
    site = install(tmp_path / "site", "perilous", "[eosfw]\nperilous = perilous_connector\n", module=module)
    monkeypatch.syspath_prepend(site)
    yield load_plugins()
    sys.modules.pop("perilous_connector", None)


Make = Callable[..., Pipeline]


@pytest.fixture
def pipeline(tmp_path: Path) -> Make:
    """A pipeline with the connector, whose tasks have processes of their own."""

    def make(worker: dict[str, str] | None = None, **properties: str) -> Pipeline:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return Pipeline(
            tmp_path / "p.toml",
            ClusterChoice("memory"),
            {
                "group.id": "g",
                "exactly.once.source.support": "enabled",
                "offset.storage.partitions": "1",
                "task.isolation": "process",
                **(worker or {}),
            },
            {"c": {"connector.class": "perilous", "topic": "t", "folder": str(tmp_path), "until": str(UNTIL), **given}},
        )

    return make


def committed(run: LocalRun) -> list[bytes]:
    """Every value of the topic, as a reader of committed records sees it."""
    with closing(run.reader()) as reader:
        read = reader.read(reader.bounds(["t"]), stall_timeout=30.0)
        return [value for one in read if isinstance(one, LogBatch) for value in one.values if value is not None]


def expected(tasks: int = 1) -> list[bytes]:
    return sorted(b"%d:%d" % (task, number) for task in range(tasks) for number in range(UNTIL))


def processes(folder: Path) -> list[int]:
    """The processes that tasks have run in."""
    return [int(path.name.rsplit("-", 1)[1]) for path in folder.glob("pid-*")]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition: Callable[[], object], what: str) -> None:
    runtime = ThreadRuntime()
    deadline = runtime.now() + 60
    while not condition():
        assert runtime.now() < deadline, what
        runtime.sleep(0.02)


def drained(pipeline: Pipeline, plugins: Plugins, runtime: ThreadRuntime) -> tuple[list[bytes], Any]:
    """What is committed in the end, and the worker's status."""
    with LocalRun(pipeline, plugins, runtime) as run:
        drain(run, RunControl(runtime), SilentReporter(), idle=60.0)
        return sorted(committed(run)), run.worker.status()


def test_each_task_runs_in_a_process_of_its_own_and_commits_every_record_once(
    pipeline: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """Counts and verdict are those of any run."""
    own = pipeline(tasks_max="2", eosfw_identity="value")
    summary = run_pipeline(own, plugins, RunControl(ThreadRuntime()), SilentReporter(), Options())

    used = set(processes(tmp_path))
    assert (summary.records, summary.duplicates, summary.missing) == (2 * UNTIL, 0, 0)
    # Verification reads the source in this process.
    assert len(used - {os.getpid()}) == 2
    assert not any(alive(pid) for pid in used - {os.getpid()})


def test_a_process_that_dies_within_a_transaction_loses_and_repeats_nothing(
    pipeline: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """TXN-20: the other task goes on in its process; the first one from its committed offsets in another."""
    dying = pipeline(
        tasks_max="2", how="segfault", at="23", transaction_boundary="interval", transaction_boundary_interval_ms="20"
    )
    found, status = drained(dying, plugins, ThreadRuntime())

    assert found == expected(2)
    assert len(list(tmp_path.glob("pid-0-*"))) == 2
    assert len(list(tmp_path.glob("pid-1-*"))) == 1
    assert any("was lost, and another one went on" in notice.text for notice in status.notices)


def test_a_process_that_always_dies_fails_its_task_with_one_sentence(
    pipeline: Make, plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TXN-20."""
    monkeypatch.setattr(subprocess_host, "MOST_FAILURES", 2)
    runtime = ThreadRuntime()
    with LocalRun(pipeline(how="exit", times="always", at="0"), plugins, runtime) as run:
        with pytest.raises(TaskFailedError) as failed:
            drain(run, RunControl(runtime), SilentReporter(), idle=60.0)
        assert committed(run) == []
    sentence = "its process ended 2 times in a row, at last with exit code 7: see what it wrote to stderr"
    assert str(failed.value).endswith(f"task c-0: {sentence}")


def test_tasks_in_processes_pause_resume_and_commit_what_was_polled_when_stopped(
    pipeline: Make, plugins: Plugins
) -> None:
    endless = pipeline(until="1000000000", transaction_boundary="interval", transaction_boundary_interval_ms=HOUR)
    with LocalRun(endless, plugins, ThreadRuntime()) as run:
        worker = run.worker
        state = lambda: worker.status().tasks[0].state  # noqa: E731
        worker.start()
        run.put_connectors()
        until(lambda: worker.status().tasks[0].open_records, "open records")
        worker.pause_connector("c")
        until(lambda: state() is TaskState.PAUSED, "the pause")
        paused = worker.status().records
        worker.resume_connector("c")
        until(lambda: worker.status().tasks[0].open_records, "open records behind the pause")
        worker.stop(60.0)

        values = committed(run)
    assert state() is TaskState.STOPPED
    assert 0 < paused < len(values) == worker.status().records
    assert sorted(values, key=lambda value: int(value[2:])) == [b"0:%d" % number for number in range(len(values))]


def test_no_secret_is_in_the_arguments_or_the_environment_of_a_process(
    pipeline: Make, plugins: Plugins, tmp_path: Path
) -> None:
    """TXN-20: every user of a machine may read the arguments of every process."""
    secret = pipeline({"producer.client.id": "canary-1"}, password="canary-2", how="block", at="3")
    with LocalRun(secret, plugins, ThreadRuntime()) as run:
        run.worker.start()
        run.put_connectors()
        until((tmp_path / "blocked").exists, "the poll that blocks")
        (pid,) = processes(tmp_path)
        shown = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        run.worker.stop(0.0)
    assert b"task_process_main" in shown
    assert b"canary" not in shown
    assert not alive(pid), "a process that blocks is killed"


class Host:
    """A step engine that hosts tasks, and says when it is asked to."""

    name = "host"
    started = 0

    @classmethod
    def host_problems(cls, settings: Any) -> list[Any]:
        return []

    @classmethod
    def start_host(cls, settings: Any) -> Any:
        cls.started += 1
        return subprocess_host.SubprocessHostSession(ThreadRuntime(), 1.0)


def test_an_engine_that_hosts_tasks_comes_before_the_property(pipeline: Make, plugins: Plugins) -> None:
    known = [*plugins.registered(), RegisteredPlugin("step engine", Host, PluginSource("acme", "1", "acme"))]
    with LocalRun(pipeline(), Plugins(known, []), ThreadRuntime(), host=HostChoice("host")):
        assert Host.started == 1
