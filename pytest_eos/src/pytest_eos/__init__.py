"""Make zombies of a connector's tasks, then prove that no record is lost or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_eos.environment.clusters.cluster import Cluster
    from pytest_eos.environment.clusters.faults import BrokerFaults
    from pytest_eos.harness import EosHarness
    from pytest_eos.runs.groups.distributed_group import DistributedGroup
    from pytest_eos.runs.groups.zombies import LeaderZombie, WorkerZombie
    from pytest_eos.runs.pipeline import Output, PipelineRun
    from pytest_eos.runs.queries.process import QueryProcess
    from pytest_eos.runs.queries.runs import QueryRun
    from pytest_eos.runs.run import Run, Topic
    from pytest_eos.verdict.assertions import assert_exactly_once, assert_no_duplicates
    from pytest_eos.zombies import Zombie, Zombies

__all__ = [
    "BrokerFaults",
    "Cluster",
    "DistributedGroup",
    "EosHarness",
    "LeaderZombie",
    "Output",
    "PipelineRun",
    "QueryProcess",
    "QueryRun",
    "Run",
    "Topic",
    "WorkerZombie",
    "Zombie",
    "Zombies",
    "assert_exactly_once",
    "assert_no_duplicates",
]

_HOMES = {
    "BrokerFaults": "environment.clusters.faults",
    "Cluster": "environment.clusters.cluster",
    "DistributedGroup": "runs.groups.distributed_group",
    "EosHarness": "harness",
    "LeaderZombie": "runs.groups.zombies",
    "Output": "runs.pipeline",
    "PipelineRun": "runs.pipeline",
    "QueryProcess": "runs.queries.process",
    "QueryRun": "runs.queries.runs",
    "Run": "runs.run",
    "Topic": "runs.run",
    "WorkerZombie": "runs.groups.zombies",
    "Zombie": "zombies",
    "Zombies": "zombies",
    "assert_exactly_once": "verdict.assertions",
    "assert_no_duplicates": "verdict.assertions",
}


def __getattr__(name: str) -> Any:
    # pytest imports this package at every start: nothing is loaded before a test asks for it.
    if name not in _HOMES:
        raise AttributeError(f"module 'pytest_eos' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"pytest_eos.{_HOMES[name]}"), name)
