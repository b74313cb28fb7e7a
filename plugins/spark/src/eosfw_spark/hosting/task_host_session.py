"""The Spark session that hosts tasks of connectors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.errors import ConfigError, EosfwError, Problem, StepFailedError
from eosfw.protocols import TaskHostSettings, TaskJobSpec
from eosfw.text import quantity
from eosfw_spark import session
from eosfw_spark.hosting.barrier_job import BarrierJob, JobServices
from eosfw_spark.hosting.executor_check import check_executors
from eosfw_spark.hosting.masters import host_settings, most_slots, unreachable
from eosfw_spark.jars import spark_home
from eosfw_spark.session import Session

EXECUTORS_TIMEOUT: Final = 120.0
"""Seconds that a master may take to start executors for all tasks."""
_LOOK: Final = 0.2


class SparkTaskHostSession:
    """Submits a barrier job for each generation of a connector; thread-safe."""

    def __init__(self, running: Session, master: str, runtime: Runtime) -> None:
        self._session, self._master, self._runtime = running, master, runtime
        self._context = running.spark.sparkContext
        conf = self._context.getConf()
        self.address: str = conf.get("spark.driver.host", "127.0.0.1")
        self.bind_address: str = conf.get("spark.driver.bindAddress", self.address)
        self._jobs: list[BarrierJob] = []
        self._work = work_folder(running)

    @classmethod
    def start(cls, settings: TaskHostSettings) -> SparkTaskHostSession:
        """Start Spark there; StepFailedError says why it did not start."""
        master = settings.master or f"local[{os.cpu_count() or 2}]"
        if why := unreachable(master):
            raise StepFailedError(f"Spark did not start with master {master}: {why}")
        running = session.start(more=host_settings(master, settings.conf))
        own = running.spark.sparkContext.master
        if own != master:
            running.close()
            raise StepFailedError(
                f"Spark runs in this process with master {own}, so it cannot use {master}: leave it out"
            )
        return cls(running, master, ThreadRuntime())

    def submit(self, job: TaskJobSpec, on_end: Callable[[EosfwError | None], None]) -> BarrierJob:
        services = JobServices(self._context, self._runtime, self._await_slots)
        check_executors(services, job)
        made = BarrierJob(services, job, on_end)
        self._jobs.append(made)
        made.start()
        return made

    def _await_slots(self, job: TaskJobSpec) -> None:
        """Wait until there is room for all tasks; ConfigError if there will be none."""
        needed = len(job.tasks)
        deadline = self._runtime.now() + EXECUTORS_TIMEOUT
        while (free := self._free_slots()) < needed:
            most = most_slots(self._master)
            hopeless = most is not None and most - self._busy_slots() < needed
            if hopeless and most is not None:  # its executors may not have started yet
                free = most - self._busy_slots()
            if hopeless or self._master.startswith("local[") or self._runtime.now() > deadline:
                raise ConfigError(Problem(f"--master {self._master}", _too_small(job.name, needed, free)))
            self._runtime.sleep(_LOOK)

    def _busy_slots(self) -> int:
        return sum(job.slots for job in self._jobs)

    def _free_slots(self) -> int:
        spark = self._context._jsc.sc()  # noqa: SLF001 - PySpark does not show it
        profile = spark.resourceProfileManager().defaultResourceProfile()
        return int(spark.maxNumConcurrentTasks(profile)) - self._busy_slots()

    def close(self) -> None:
        for job in self._jobs:
            job.cancel()
        self._session.close()
        if self._work is not None:
            self._work.delete()


def _too_small(name: str, needed: int, free: int) -> str:
    return (
        f"{name} has {quantity(needed, 'task')}, which all run at the same time, but there are free cores for "
        f"{max(0, free)}: name a master with more, or lower tasks.max"
    )


class WorkFolder:
    """The files that one application's executors leave in Spark; `delete` is for the end, when they have ended."""

    def __init__(self, spark_home: Path, application: str) -> None:
        self.path = spark_home / "work" / application

    def delete(self) -> None:
        """Delete them, and the folder around them if it holds nothing else."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):  # others run, or have run, there
            self.path.parent.rmdir()


def work_folder(running: Session) -> WorkFolder | None:
    """The folder to delete behind a session that was started here; None if its executors leave none."""
    context = running.spark.sparkContext
    if not running.owned or not str(context.master).startswith("local-cluster"):
        return None
    folder = WorkFolder(spark_home(), str(context.applicationId))
    session.delete_when_jvm_ends(context._gateway, folder.path)  # noqa: SLF001 - so does the session's own folder
    return folder
