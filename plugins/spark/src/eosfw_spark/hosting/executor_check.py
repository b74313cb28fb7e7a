"""The check that executors have the packages that tasks need, before the first task starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from eosfw.errors import ConfigError, Problem
from eosfw_spark.hosting import installed_versions

if TYPE_CHECKING:
    from pyspark import SparkContext

_OWN: Final = ("eosfw", "eosfw-spark")

Found = tuple[str, Mapping[str, str | None]]


def check_executors(context: SparkContext, tasks: int, requires: Mapping[str, str]) -> None:
    """Raise ConfigError if a process that is to run a task lacks a distribution, or has another version of it."""
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    wanted = {**{name: version(name) for name in _OWN}, **requires}
    register_pickle_by_value(installed_versions)  # type: ignore[no-untyped-call]
    try:
        # In a barrier stage, so that it runs where the tasks will, not n times on one executor.
        found = context.parallelize([list(wanted)] * tasks, tasks).barrier()
        seen = found.mapPartitions(installed_versions.installed_versions).collect()
    finally:
        unregister_pickle_by_value(installed_versions)  # type: ignore[no-untyped-call]
    if problems := lacking(wanted, seen):
        raise ConfigError(Problem("--engine spark", "; ".join(problems) + REMEDY))


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
