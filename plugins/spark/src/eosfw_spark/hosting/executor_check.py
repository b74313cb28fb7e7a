"""The check that executors have the packages that tasks need, before the first task starts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from eosfw.errors import ConfigError, Problem, StepFailedError
from eosfw.protocols import TaskJobSpec
from eosfw_spark.hosting import installed_versions
from eosfw_spark.hosting.barrier_job import MOST_FAILURES, JobServices
from eosfw_spark.root_cause import lost_executor, root_cause

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

_OWN: Final = ("eosfw", "eosfw-spark")

Found = tuple[str, Mapping[str, str | None]]


def check_executors(services: JobServices, job: TaskJobSpec) -> None:
    """Raise ConfigError if a process that is to run a task lacks a distribution, or has another version of it.

    StepFailedError says why they could not be asked. A barrier stage ends with the first executor that dies, and Spark
    does not start it again; so it is asked again of those that take its place.
    """
    wanted = {**{name: version(name) for name in _OWN}, **job.requires}
    for attempt in itertools.count(1):
        services.await_slots(job)
        try:
            seen = _installed(services.context, len(job.tasks), list(wanted))
            break
        except Exception as why:
            cause = root_cause(why).sentence
            if attempt == MOST_FAILURES or lost_executor(why) is None:
                raise StepFailedError(f"the executors could not be checked: {cause}") from why
            logger.warning("the executors are checked again: %s", cause)
    if problems := lacking(wanted, seen):
        raise ConfigError(Problem("--engine spark", "; ".join(problems) + REMEDY))


def _installed(context: SparkContext, tasks: int, names: list[str]) -> list[Found]:
    """What each process has of these distributions."""
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    register_pickle_by_value(installed_versions)  # type: ignore[no-untyped-call]
    try:
        # In a barrier stage, so that it runs where the tasks will, not n times on one executor.
        stage = context.parallelize([names] * tasks, tasks).barrier()
        found: list[Found] = stage.mapPartitions(installed_versions.installed_versions).collect()
    finally:
        unregister_pickle_by_value(installed_versions)  # type: ignore[no-untyped-call]
    return found


REMEDY: Final = (
    ". Install the same versions on every executor, or ship an environment: --conf spark.archives=..., "
    "--conf spark.pyspark.python=..."
)


def lacking(wanted: Mapping[str, str], seen: Iterable[Found]) -> list[str]:
    """What each machine lacks, in words, once."""
    texts: dict[str, None] = {}
    for host, versions in seen:
        odd = [_odd(name, needed, versions.get(name)) for name, needed in wanted.items()]
        if any(odd):
            texts[f"the executor on {host} has {', '.join(filter(None, odd))}"] = None
    return list(texts)


def _odd(name: str, needed: str, found: str | None) -> str:
    if found == needed:
        return ""
    return f"no {name} {needed}" if found is None else f"{name} {found} instead of {needed}"
