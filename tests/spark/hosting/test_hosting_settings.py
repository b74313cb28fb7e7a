"""What is decided about hosting without starting Spark."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib.metadata import version

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import StepFailedError
from eosfw.protocols import TaskHost, TaskHostSettings, TaskJobSpec
from eosfw_spark.hosting.barrier_job import MOST_FAILURES, BarrierJob, JobServices
from eosfw_spark.hosting.executor_check import check_executors, lacking
from eosfw_spark.hosting.installed_versions import installed_versions
from eosfw_spark.hosting.masters import host_settings, is_local, master_problem, most_slots, unreachable
from eosfw_spark.hosting.task_host_session import WorkFolder
from eosfw_spark.session import settings
from eosfw_spark.steps.engine import SparkStepEngine
from ports import free_port


def test_the_step_engine_of_spark_is_a_task_host():
    assert isinstance(SparkStepEngine, TaskHost)


@pytest.mark.parametrize(
    ("master", "local", "slots"),
    [
        ("local", True, 1),
        ("local[*]", True, None),
        ("local[4]", True, None),
        ("local[4, 3]", True, None),
        ("local-cluster[2,3,1024]", True, 6),
        ("spark://host:7077", False, None),
        ("yarn", False, None),
        ("k8s://https://host:6443", False, None),
    ],
)
def test_a_master_says_whether_executors_share_the_installation(master, local, slots):
    assert (is_local(master), most_slots(master)) == (local, slots)


def test_executors_elsewhere_find_the_driver_and_start_their_own_python(tmp_path):
    chosen = {**settings(tmp_path, 2), **host_settings("spark://host:7077", {})}
    assert chosen["spark.driver.bindAddress"] == "0.0.0.0"
    assert chosen["spark.python.daemon.module"] == "pyspark.daemon"
    assert str(tmp_path) not in chosen["spark.local.dir"]
    assert chosen["spark.master"] == "spark://host:7077"


def test_executors_elsewhere_need_a_cluster_that_is_named():
    embedded = TaskHostSettings("spark://host:7077", embedded_broker=True)
    assert "embedded broker serves this one alone" in str(master_problem(embedded))
    assert master_problem(TaskHostSettings("spark://host:7077")) is None
    assert master_problem(TaskHostSettings("local[2]", embedded_broker=True)) is None


def test_a_dead_master_is_named_before_spark_is_started():
    """Spark itself says so after more than a minute."""
    port = free_port()
    with pytest.raises(StepFailedError, match=f"no Spark master accepts a connection at 127.0.0.1:{port} .*--master"):
        SparkStepEngine.start_host(TaskHostSettings(f"spark://127.0.0.1:{port}"))

    with socket.create_server(("127.0.0.1", 0)) as standby:
        alive = f"127.0.0.1:{standby.getsockname()[1]}"
        assert unreachable(f"spark://127.0.0.1:{port},{alive}") is None
    assert unreachable("local-cluster[2,1,1024]") is None


def test_hosted_tasks_have_no_second_attempt_beside_the_first():
    chosen = host_settings("local-cluster[2,1,1024]", {})
    assert (chosen["spark.speculation"], chosen["spark.dynamicAllocation.enabled"]) == ("false", "false")
    assert chosen["spark.executor.memory"] == "1024m"
    assert (
        host_settings("local-cluster[2,1,1024]", {"spark.executor.memory": "600m"})["spark.executor.memory"] == "600m"
    )


def test_an_executor_without_the_packages_is_named_once():
    seen = [
        ("a", {"eosfw": "1", "acme": None}),
        ("a", {"eosfw": "1", "acme": None}),
        ("b", {"eosfw": "2", "acme": "3"}),
    ]
    assert lacking({"eosfw": "1", "acme": "3"}, seen) == [
        "the executor on a has no acme 3",
        "the executor on b has eosfw 2 instead of 1",
    ]


def test_versions_are_those_of_the_process_that_is_asked():
    ((_, found),) = installed_versions([["eosfw", "no-such-thing"]])
    assert found == {"eosfw": version("eosfw"), "no-such-thing": None}


def test_the_work_folder_goes_and_that_of_others_stays(tmp_path):
    for name in ("app-1", "app-2"):
        (tmp_path / "work" / name / "0").mkdir(parents=True)
    WorkFolder(tmp_path, "app-1").delete()
    assert [one.name for one in (tmp_path / "work").iterdir()] == ["app-2"]
    WorkFolder(tmp_path, "app-2").delete()
    assert not (tmp_path / "work").exists()


def test_a_job_is_cancelled_without_a_word_when_spark_has_stopped():
    class Stopped:
        def cancelJobGroup(self, group: str) -> None:  # noqa: N802 - Spark's name
            raise RuntimeError("Cannot call methods on a stopped SparkContext.")

    services = JobServices(Stopped(), ThreadRuntime(), lambda _: None)
    job = BarrierJob(services, TaskJobSpec("c", ["{}"]), lambda _: None)
    job._running = True
    job.cancel()


@pytest.mark.parametrize("master", ["nonsense", "local[x]", "local-cluster[2,1]", "127.0.0.1:7077"])
def test_a_master_that_is_none_is_refused_by_name(master):
    """Bad input: a misspelt master."""
    for embedded in (True, False):
        text = master_problem(TaskHostSettings(master, embedded_broker=embedded))

        assert f"{master!r} is no master" in text


class FromSparkError(Exception):
    """Stands for any class of PySpark or Py4J."""

    __module__ = "py4j.protocol"


class DyingExecutors:
    """Stands for a SparkContext whose executors die in the first stages."""

    def __init__(self, *ends: str) -> None:
        self._ends = list(ends)
        self.asked: list[str] = []

    def parallelize(self, elements: list[list[str]], _slices: int) -> DyingExecutors:
        self.asked = elements[0]
        return self

    def barrier(self) -> DyingExecutors:
        return self

    def mapPartitions(self, _function: Callable[..., object]) -> DyingExecutors:  # noqa: N802 - Spark's name
        return self

    def collect(self) -> list[tuple[str, dict[str, str]]]:
        if self._ends:
            raise FromSparkError(f"Stage failed because barrier task x finished unsuccessfully.\n{self._ends.pop(0)}")
        return [("a", {name: version(name) for name in self.asked})]


LOST = "ExecutorLostFailure (executor 1 exited unrelated to the running tasks) Reason: Heartbeat timed out"


def checked(*ends: str) -> int:
    """Check the executors of a job; how often room for its tasks was waited for."""
    waits: list[TaskJobSpec] = []
    job = TaskJobSpec("c", ["{}"])
    check_executors(JobServices(DyingExecutors(*ends), ThreadRuntime(), waits.append), job)
    return len(waits)


def test_executors_are_asked_again_when_one_dies_meanwhile():
    """Spark ends a barrier stage with the first executor that dies, and starts no result stage of that kind again."""
    assert checked() == 1
    assert checked(LOST, LOST) == 3


def test_executors_that_cannot_be_asked_are_reported_at_once():
    with pytest.raises(StepFailedError, match=r"the executors could not be checked: .*disk is full"):
        checked("java.io.IOException: disk is full")
    with pytest.raises(StepFailedError, match=r"checked: Spark lost executor 1, which .*: Heartbeat timed out"):
        checked(*[LOST] * MOST_FAILURES)
