"""Write docs/reference/pytest-eos.md from the plugin itself; a test finds the page out of date."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest_eos
from eosfw.state.steps import LEADER, MICRO_BATCH, STARTUP, TRANSACTION, TaskStep
from pytest_eos import assert_exactly_once, assert_no_duplicates, contracts, fixtures
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.environment.clusters.faults import BrokerFaults
from pytest_eos.environment.config.markers import LINES
from pytest_eos.environment.config.options import add_options
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.distributed_group import DistributedGroup
from pytest_eos.runs.groups.worker_group import WorkerGroup
from pytest_eos.runs.groups.worker_harness import WorkerHarness
from pytest_eos.runs.groups.zombies import GroupZombie, LeaderZombie, WorkerZombie
from pytest_eos.runs.pipeline import Output, PipelineRun
from pytest_eos.runs.queries.process import QueryProcess
from pytest_eos.runs.queries.runs import QueryRun
from pytest_eos.runs.run import Run, Topic
from pytest_eos.runs.run_harness import RunHarness
from pytest_eos.zombies import Zombie, Zombies

PAGE = Path(__file__).with_name("pytest-eos.md")
HEAD = """# pytest-eos

A pytest plugin. Install it, and pytest finds it. [Test a connector](../how-to/test-a-connector.md) shows its use. This
page is made from the code by `python docs/reference/pytest_eos_page.py`.
"""
HIDDEN = {
    "never_frozen",
    "timeline_section",
    "complaints",
    "complaint",
    "close",
    "require_capabilities",
    "eos_zombie_spec",
    "release",
    "worker_of",
    "task_count",
}
"""What pytest-eos calls itself."""


class Recorder:
    """Stands for pytest's parser, and keeps what it is told."""

    def __init__(self) -> None:
        self.options: list[tuple[str, dict[str, Any]]] = []
        self.inis: list[str] = []

    def getgroup(self, *_: str) -> Recorder:
        return self

    def addoption(self, name: str, **given: Any) -> None:
        self.options.append((name, given))

    def addini(self, name: str, *_: Any, **__: Any) -> None:
        self.inis.append(name)


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            HEAD,
            *_options(),
            *_markers(),
            *_fixtures(),
            *_section("The fixture `eos`", EosHarness, RunHarness, WorkerHarness),
            *_section("What `eos.run` returns", Run, Topic),
            *_section("What `eos.run_pipeline` returns", PipelineRun),
            *_section("What a step wrote", Output),
            *_section("The fixture `zombies`", Zombies),
            *_section("What `zombies.task` returns", Zombie),
            *_section("What `zombies.leader` returns", LeaderZombie, GroupZombie),
            *_section("What `zombies.worker` returns", WorkerZombie, GroupZombie),
            *_section("What `eos.distributed` returns", DistributedGroup, WorkerGroup),
            *_section("What `eos.run_query` returns", QueryRun),
            *_section("A driver of a query", QueryProcess),
            *_section("The fixture `faults`", BrokerFaults),
            "[Faults](faults.md) has every kind and every point.\n",
            *_section("The fixture `eos_cluster`", Cluster),
            *_assertions(),
            *_contracts(),
        ]
    )


def _options() -> Iterator[str]:
    recorder = Recorder()
    add_options(recorder)  # type: ignore[arg-type]
    yield "## Options\n"
    yield "The second name is for configuration files (`pytest.ini`, `pyproject.toml`).\n"
    yield "| option | in a file | meaning |"
    yield "|---|---|---|"
    for name, given in recorder.options:
        ini = name.removeprefix("--").replace("-", "_")
        assert ini in recorder.inis, f"{name} has no twin for configuration files"
        takes = given.get("metavar", "")
        yield f"| `{name} {takes}` | `{ini}` | {given['help']} |"
    yield ""


def _markers() -> Iterator[str]:
    yield "## Markers\n"
    for line in LINES:
        name, _, meaning = line.partition("):")
        name, meaning = (f"{name})", meaning) if meaning else tuple(line.split(":", 1))
        yield f"- `{name}`: {meaning.strip()}"
    for title, steps in (("startup", STARTUP), ("transaction", TRANSACTION), ("batch", MICRO_BATCH)):
        yield f"- Steps of `{title}`, in order: {_steps(steps)}."
    yield f"- Steps of a group's leader, for `zombies.leader`, not for the marker: {_steps(LEADER)}."
    yield ""


def _steps(steps: Iterable[TaskStep]) -> str:
    return ", ".join(f"`{step.value}`" for step in steps)


def _fixtures() -> Iterator[str]:
    yield "## Fixtures\n"
    yield "| fixture | gives | its type |"
    yield "|---|---|---|"
    for name, value in vars(fixtures).items():
        if type(value).__name__ == "FixtureFunctionDefinition" and name not in HIDDEN and not name.startswith("_"):
            kind = inspect.signature(value).return_annotation.removeprefix("Iterator[").removesuffix("]")
            yield f"| `{name}` | {_prose(value)} | {_importable(kind)} |"
    yield ""


def _importable(kind: str) -> str:
    """Where a test takes the name from."""
    modules = {**dict.fromkeys(pytest_eos.__all__, "pytest_eos"), "Runtime": "eosfw.concurrency"}
    modules["SparkSession"] = "pyspark.sql"
    return f"`{modules[kind]}.{kind}`" if kind in modules else f"`{kind}`"


def _section(title: str, *kinds: type) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{_prose(kinds[0])}\n"
    members = {name: member for kind in reversed(kinds) for name, member in vars(kind).items()}
    rows = [
        f"| `{_call(name, member)}` | {_prose(member)} |"
        for name, member in members.items()
        if _is_listed(name, member)
    ]
    if rows:
        yield from ("| member | does |", "|---|---|", *rows, "")


def _is_listed(name: str, member: Any) -> bool:
    listed = inspect.isfunction(member) or isinstance(member, property)
    return listed and name not in HIDDEN and not name.startswith("_") and bool(inspect.getdoc(member))


def _call(name: str, function: Any) -> str:
    if not inspect.isfunction(function):
        return name
    given = [str(one.replace(annotation=one.empty)) for one in inspect.signature(function).parameters.values()]
    stars = [text for text in given if text != "self"]
    return f"{name}({', '.join(stars)})"


def _assertions() -> Iterator[str]:
    yield "## Assertions\n"
    for one in (assert_exactly_once, assert_no_duplicates):
        yield f"- `pytest_eos.{_call(one.__name__, one)}`: {_prose(one)}"
    yield ""


def _contracts() -> Iterator[str]:
    yield "## Contracts\n"
    yield "Inherit one of these classes of `pytest_eos.contracts`, define its fixture, and get every test."
    yield "How: [test a connector](../how-to/test-a-connector.md), [write a backend](../how-to/write-a-backend.md).\n"
    for name in contracts.__all__:
        contract = getattr(contracts, name)
        tests = [test for test in dir(contract) if test.startswith("test_")]
        if tests:
            yield f"### {name}\n"
            yield f"{_prose(contract)}\n"
            yield from (f"- {test.removeprefix('test_').replace('_', ' ')}" for test in _in_order(contract, tests))
            yield ""


def _in_order(contract: type, tests: list[str]) -> list[str]:
    written = [name for kind in contract.__mro__ for name in vars(kind)]
    return sorted(tests, key=written.index)


def _prose(documented: Any) -> str:
    """A docstring as one paragraph."""
    return " ".join((inspect.getdoc(documented) or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
