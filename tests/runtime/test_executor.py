"""What a worker's executor runs is what it was asked to run, each task once, whatever happens meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from eosfw.concurrency import Spawned, ThreadRuntime
from eosfw.config import Config
from eosfw.ids import ConnectorTaskId
from eosfw.runtime import Worker
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.hosting.executor import TaskExecutor
from eosfw.runtime.hosting.thread_launcher import RunningTask, ThreadLauncher
from eosfw.runtime.status import TaskState
from eosfw.runtime.tasks.config_reloads import ExpiredConfig
from eosfw.state.steps import TaskStep

from .counting import CountingConnector
from .scripted_task import batch, scripted
from .worker_harness import PATIENCE, WorkerHarness, connector_of

TWO = {"streams": "2", "tasks_max": "2"}


class FewThreads(ThreadRuntime):
    """Has no thread left for one task."""

    full = True

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        if self.full and name.startswith("eosfw-c-1-"):
            raise RuntimeError("can't start new thread")
        return super().spawn(name, target)


def executor_of(stage: WorkerHarness) -> TaskExecutor:
    return stage.worker._executor


def test_a_task_that_is_restarted_while_all_are_stopped_at_once_does_not_run():
    """FEN-10: its worker was put out of the group, and another one runs the task."""
    polling, awake = threading.Event(), threading.Event()

    def poll(_: Any) -> None:
        polling.set()
        assert awake.wait(PATIENCE)

    with WorkerHarness(connector_of(scripted(poll))) as stage:
        stage.put("c")
        assert polling.wait(PATIENCE)
        executor = executor_of(stage)
        restart = threading.Thread(target=lambda: executor.restart_tasks("c", [0]))
        restart.start()
        stage.until(lambda: len(executor.replaced()[0]) == 1, "the begin of the restart")
        executor.stop_at_once()
        awake.set()
        restart.join(PATIENCE)
        stage.until(lambda: not executor.replaced()[0], "the end of both tasks")

        assert executor.connectors() == {}
        assert {task.state for task in executor.replaced()[1]} == {TaskState.STOPPED}


def test_tasks_that_are_stopped_at_once_are_cancelled_if_they_do_not_stop_in_time():
    """TXN-13: without exactly-once nothing else keeps them from writing beside the worker that got them."""
    polling, awake = threading.Event(), threading.Event()

    def poll(_: Any) -> Any:
        polling.set()
        assert awake.wait(2 * PATIENCE)
        return batch(0)

    with WorkerHarness(
        connector_of(scripted(poll)),
        cancels_tasks=True,
        exactly_once_source_support="disabled",
        task_shutdown_graceful_timeout_ms="50",
    ) as stage:
        stage.put("c")
        assert polling.wait(PATIENCE)
        executor_of(stage).stop_at_once()
        stage.until(lambda: "close" in stage.cluster.calls, "the end of its producer")
        awake.set()
        stage.until(lambda: not executor_of(stage).replaced()[0], "the end of the task")

    assert stage.cluster.committed("t") == []


@pytest.mark.parametrize(
    "start",
    [
        lambda executor: executor.start_generation(Assignment("c", 0, [1])),
        lambda executor: executor.restart_tasks("c", [0]),
    ],
    ids=["generation", "restart"],
)
def test_tasks_that_are_started_while_the_worker_stops_are_stopped_as_well(start: Callable[[TaskExecutor], None]):
    """TXN-11: a worker that waits for tasks of before goes on to those of its newest assignment, however late."""
    with WorkerHarness() as stage:
        stage.put("c", until="3", **TWO)
        stage.until_drained()
        executor = executor_of(stage)
        executor.stop_tasks([ConnectorTaskId("c", 1)])
        executor.stop(PATIENCE)

        start(executor)

        stage.until(lambda: not any(one.thread.is_alive() for one in executor._all_tasks()), "the end of all tasks")


def test_restarting_what_does_not_run_here_notes_nothing():
    """FEN-14: another worker runs it."""
    with WorkerHarness() as stage:
        executor_of(stage).restart_tasks("d", [0])

        assert executor_of(stage).connectors() == {}


def test_tasks_stop_that_were_started_before_one_that_could_not_be():
    """Nobody knows of them: they would run beside those that are started next."""
    runtime = FewThreads()
    with WorkerHarness(runtime=runtime) as stage:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            stage.put("c", until="5", **TWO)
        stage.until(lambda: TaskStep.STOPPED in stage.steps(0), "the end of the first task")
        assert executor_of(stage).connectors() == {}
        runtime.full = False
        stage.put("c", until="5", **TWO)
        stage.until_drained()


def test_tasks_that_could_not_be_restarted_are_restarted_when_somebody_asks_again():
    """FEN-14: they have ended, and still belong to this worker."""
    runtime = FewThreads()
    runtime.full = False
    with WorkerHarness(runtime=runtime) as stage:
        stage.put("c", until="5", **TWO)
        stage.until_drained()
        runtime.full = True
        with pytest.raises(RuntimeError, match="can't start new thread"):
            executor_of(stage).restart_tasks("c", [0, 1])
        assert [task.state for task in stage.worker.status().tasks] == [TaskState.STOPPED] * 2

        runtime.full = False
        executor_of(stage).restart_tasks("c", [0, 1])

        stage.until_drained()
        assert len(executor_of(stage).replaced()[1]) == 2


def test_tasks_that_run_already_are_not_started_again():
    """A worker that could start some of its tasks alone asks for all of them again."""
    with WorkerHarness() as stage:
        generation = stage.put("c", until="5", **TWO)
        stage.until_drained()
        executor_of(stage).start_generation(Assignment("c", generation, [0, 1]))

        assert [task.id.task for task in stage.worker.status().tasks] == [0, 1]
        assert stage.steps(0).count(TaskStep.INIT_PRODUCER) == 1


class Growing(CountingConnector):
    """Has one more task each time that it is asked."""

    asked = 0

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        self.asked += 1
        return super().task_configs(config, self.asked)


@pytest.mark.parametrize(
    "replace",
    [
        lambda worker: worker._reconfigure("c", again=True),
        lambda worker: worker._reload(ExpiredConfig("c", (0,), connector_itself=False)),
    ],
    ids=["other tasks", "restart"],
)
def test_a_run_is_not_drained_while_its_tasks_are_replaced(replace: Callable[[Worker], None]):
    """Between the end of the old and the start of the new ones there are none, which have nothing to do."""
    found: list[tuple[bool, int, int]] = []

    class Noting(ThreadLauncher):
        def launch(self, *arguments: Any, **more: Any) -> Sequence[RunningTask]:
            status = stage.worker.status()
            found.append((stage.worker.drained(0.0), status.records, len(status.tasks)))
            return super().launch(*arguments, **more)

    with WorkerHarness(Growing(), launcher=Noting) as stage:
        stage.put("c", streams="2", until="5", tasks_max="2")
        stage.until_drained()
        records = stage.worker.status().records
        replace(stage.worker)

        assert found[1:] == [(False, records, 0)]
        stage.until_drained()
