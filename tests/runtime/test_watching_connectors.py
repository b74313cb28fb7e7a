"""A connector watches its source in a run: it asks for other tasks, and says that it cannot go on."""

from __future__ import annotations

import threading

import pytest
from tests.kip618.group import GroupPlugins

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import SourceConnector
from eosfw.errors import RetriableError, TaskFailedError
from eosfw.pipeline import ClusterChoice, Options, Pipeline, RunControl, SilentReporter, Verification, run
from eosfw.runtime.status import TaskState

from .counting import CountingConnector, expected
from .watching_connector import ChangingSource, watching
from .worker_harness import WorkerHarness


def generation(stage: WorkerHarness) -> int | None:
    """The generation that runs; None while it is replaced."""
    found = stage.worker.status().connectors.get("c")
    return None if found is None else found.generation


@pytest.fixture
def source() -> ChangingSource:
    return ChangingSource()


def test_a_connector_that_asks_for_it_gets_a_new_generation_and_loses_nothing(source: ChangingSource) -> None:
    """PLG-05: its tasks are fenced and replaced as by a change of its properties."""
    with WorkerHarness(watching(source)) as stage:
        stage.put("c", tasks_max="2", until="3")
        stage.until(lambda: len(stage.cluster.committed("t")) == 3, "the first stream")
        source.streams = 2
        stage.until(lambda: generation(stage) == 1, "another generation")
        stage.until_drained()

        assert len(stage.worker.status().tasks) == 2
        assert sorted(stage.cluster.committed("t")) == expected(2, 3)
    assert source.calls[-1] == "stop"


def test_an_unchanged_split_of_the_work_leaves_the_tasks_alone(source: ChangingSource) -> None:
    """PLG-05: a request costs a question, no generation; there is one behind each start, too."""
    with WorkerHarness(watching(source)) as stage:
        stage.put("c", until="3")
        stage.until(lambda: source.calls.count("task_configs") == 2, "the question behind the start")
        for asked in (3, 4):
            source.context.request_task_reconfiguration()
            stage.until(lambda asked=asked: source.calls.count("task_configs") == asked, "another question")
        stage.until_drained()
        assert generation(stage) == 0
    assert source.calls[:3] == ["task_configs", "start", "task_configs"]


def test_what_changes_between_the_first_split_and_the_start_is_not_missed(source: ChangingSource) -> None:
    """PLG-05: the connector remembers what it has seen at its start, and would never ask."""
    original = source.called

    def changed(what: str) -> None:
        if what == "start":
            source.streams = 2
        original(what)

    source.called = changed  # type: ignore[method-assign]
    with WorkerHarness(watching(source)) as stage:
        stage.put("c", tasks_max="2", until="3")
        stage.until(lambda: generation(stage) == 1, "another generation")
        stage.until_drained()
        assert sorted(stage.cluster.committed("t")) == expected(2, 3)


def test_a_run_is_not_over_while_a_connector_is_about_to_get_other_tasks(source: ChangingSource) -> None:
    """PLG-05: while tasks are replaced there are none for a moment, which looks like the end of all sources."""
    held, go_on = threading.Event(), threading.Event()

    def hold(event: object) -> None:
        if (
            getattr(event, "step", None) is not None
            and event.step.value == "write-task-configs"
            and source.streams == 2
        ):
            held.set()
            go_on.wait(30)

    with WorkerHarness(watching(source), on_step=hold) as stage:
        stage.put("c", tasks_max="2", until="3")
        stage.until_drained()
        source.streams = 2
        assert held.wait(30)
        assert not stage.worker.drained(0)
        go_on.set()
        stage.until_drained()
        assert sorted(stage.cluster.committed("t")) == expected(2, 3)


@pytest.mark.parametrize("how", ["raise_error", "an exception of watch", "an exception of start"])
def test_a_connector_that_fails_says_why_and_its_tasks_go_on(source: ChangingSource, how: str) -> None:
    """PLG-06: the error is in its status; `stop` is called, and nothing that it asks for afterwards is done."""
    if how == "an exception of start":
        source.fails_with.append(ValueError("no such database"))
    with WorkerHarness(watching(source)) as stage:
        stage.put("c")
        stage.until(lambda: "watch" in source.calls or how.endswith("start"), "the first look")
        if how == "raise_error":
            source.context.raise_error(ValueError("no such database"))
        elif how == "an exception of watch":
            source.fails_with.append(ValueError("no such database"))
        stage.until(lambda: "stop" in source.calls, "the end of the watch")
        status = stage.worker.status()

        assert {name: str(error) for name, error in status.connector_failures.items()} == {"c": "no such database"}
        stage.until(lambda: stage.worker.status().tasks[0].state is TaskState.RUNNING, "a task that goes on")
        asked = source.calls.count("task_configs")
        if source.context is not None:
            source.context.request_task_reconfiguration()
            source.context.raise_error(ValueError("another one"))
        stage.put("c", until="5")
        stage.until(lambda: source.calls.count("start") == 2, "a start with other properties")
        stage.until(lambda: source.calls.count("task_configs") == asked + 2, "one question each")
        assert stage.worker.status().connector_failures == {}


def test_what_fails_for_a_passing_reason_is_called_again(source: ChangingSource) -> None:
    """PLG-06: a source that does not answer now is no failure."""
    source.fails_with += [RetriableError("busy", retry_after=0.001), RetriableError("busy", retry_after=0.001)]
    with WorkerHarness(watching(source)) as stage:
        stage.put("c")
        stage.until(lambda: source.calls.count("watch") > 1, "looks")
        source.fails_with.append(RetriableError("busy", retry_after=0.001))
        seen = source.calls.count("watch")
        stage.until(lambda: source.calls.count("watch") > seen + 2, "further looks")
        assert source.calls.count("start") == 3
        assert stage.worker.status().connector_failures == {}


def test_the_watch_of_new_properties_waits_for_the_end_of_the_one_before(source: ChangingSource) -> None:
    """PLG-04: two of them would use the same slot of a database."""
    source.stopping = threading.Event()
    with WorkerHarness(watching(source)) as stage:
        stage.put("c")
        stage.until(lambda: "watch" in source.calls, "the first look")
        stage.put("c", until="5")
        stage.until(lambda: "stop" in source.calls, "the end of the first")
        assert source.calls.count("start") == 1
        source.stopping.set()
        stage.until(lambda: source.calls.count("start") == 2, "the second")


def test_a_connector_that_is_removed_is_watched_no_longer(source: ChangingSource) -> None:
    """PLG-04: nor is one of a worker that has ended."""
    with WorkerHarness(watching(source)) as stage:
        stage.put("c")
        stage.until(lambda: "watch" in source.calls, "the first look")
        stage.worker.remove_connector("c")
        stage.until(lambda: "stop" in source.calls, "the end of the watch")
        stage.put("d")
        stage.until(lambda: source.calls.count("start") == 2, "another start")
    assert source.calls.count("stop") == 2


def test_only_a_connector_that_defines_it_has_a_thread() -> None:
    """PLG-04: a thousand others cost nothing."""
    before = {thread.name for thread in threading.enumerate()}
    with WorkerHarness(CountingConnector()) as stage:
        stage.put("c")
        new = {thread.name for thread in threading.enumerate()} - before
    assert [name for name in new if name.startswith("eosfw-connector")] == []


def pipeline(connector: SourceConnector, tmp_path, **properties: str) -> Pipeline:
    return Pipeline(
        path=tmp_path / "p.toml",
        worker={"group.id": "g"},
        cluster=ClusterChoice(),
        connectors={"c": {"connector.class": connector.name, "topic": "t", "tasks.max": "2", **properties}},
    )


def test_eosfw_run_reads_a_stream_that_comes_while_it_runs_and_verifies_it(source: ChangingSource, tmp_path) -> None:
    """PLG-05: with the embedded broker, up to the verdict."""
    original = source.called

    def changed(what: str) -> None:
        if what == "watch":
            source.streams = 2
        original(what)

    source.called = changed  # type: ignore[method-assign]
    connector = watching(source)
    found = run(
        pipeline(connector, tmp_path, until="50"),
        GroupPlugins(connector),  # type: ignore[arg-type]
        RunControl(ThreadRuntime()),
        SilentReporter(),
        Options(verify=Verification.REQUIRED),
    )

    assert (found.records, found.duplicates, found.missing) == (100, 0, 0)


def test_eosfw_run_ends_with_the_error_of_a_connector(source: ChangingSource, tmp_path) -> None:
    """PLG-06: its exit code is that of the error."""
    connector = watching(source)
    source.fails_with.append(ValueError("no such database"))
    with pytest.raises(TaskFailedError, match=r"^connector c failed: (ValueError: )?no such database"):
        run(
            pipeline(connector, tmp_path),
            GroupPlugins(connector),  # type: ignore[arg-type]
            RunControl(ThreadRuntime()),
            SilentReporter(),
            Options(),
        )
