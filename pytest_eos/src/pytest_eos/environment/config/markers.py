"""The markers of a test, checked: an error names the nearest name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest import TestCase

import pytest

if TYPE_CHECKING:
    from eosfw.observe import TaskStep

LINES = (
    (
        "eos_zombie(at=STEP, nth=None, task=None, who=None, how='freeze'): run the test once per step (names,"
        " TaskSteps, `startup`, `transaction`, `all`, `batch`); `eos.run` then freezes a task at that step, lets a"
        " successor start, wakes it; at `batch:...` steps `eos.run_query` freezes, or kills (`how='kill'`), a `driver`"
        " or an `executor`"
    ),
    "eos_backend(*names, needs=()): run the test over these backends; `needs` names capabilities it cannot do without",
    "eos_needs(*capabilities): what a backend must declare for a contract's test to apply to it",
    (
        "eos_cluster(security=PROTOCOL, rights=None): give the test an embedded cluster that is reached by `ssl`,"
        " `sasl_plaintext` or `sasl_ssl` alone, with a throw-away authority and user, whatever --eos-security says;"
        " `rights={'alice': ['Write on topic orders']}` names users that may do this and nothing else"
    ),
    "eos_clock(CLOCK): whether the test's time is `virtual` or `real`, whatever --eos-clock says",
    (
        "eos_simulation(seeds=100): play the test once for each of so many seeds, each of which draws the interleaving"
        " of up to three workers, their leader, tasks and the embedded broker, and the faults that happen to them;"
        " `eos.run` judges that every record is there once"
    ),
    "eos_spark: skip the test without PySpark and Java 17 or later; fail it where --eos-require=spark promised them",
)
_ONCE = ("eos_zombie", "eos_simulation", "eos_clock", "eos_cluster")
_ELSEWHERE = ": put it at a function, or at a class that is no unittest.TestCase"
PLAINTEXT = "plaintext"
_SASL = ("sasl_plaintext", "sasl_ssl")
PROTOCOLS = (PLAINTEXT, "ssl", *_SASL)
_GROUPS = ("all", "startup", "transaction")
_BATCH = "batch"
DRIVER, EXECUTOR = "driver", "executor"
FREEZE, KILL = "freeze", "kill"


def refuse_unknown(names: Iterable[str], config: pytest.Config, where: str) -> None:
    """UsageError for a misspelt marker that begins with `eos`: its test would run without what it asks for."""
    odd = [name for name in names if name.startswith("eos")]
    if not odd:
        return
    known = [line.partition("(")[0].partition(":")[0].strip() for line in config.getini("markers")]
    existing = [name for name in known if name.startswith("eos_")]
    for name in odd:
        if name not in known:
            raise pytest.UsageError(f"{where}: there is no marker {name!r}{suggestion(name, existing, dashes=False)}")


def refuse_twice(marks: Iterable[pytest.Mark], where: str) -> None:
    """UsageError for a marker that stands at a test twice, of which pytest hands over the last one alone."""
    names = [mark.name for mark in marks]
    for name in _ONCE:
        if names.count(name) > 1:
            raise pytest.UsageError(f"{where}: {name} stands there twice: write all that it is to say in one marker")


def refuse_without_effect(item: pytest.Item) -> None:
    """UsageError for a marker at a test of `unittest`, or at `pytest.param`, where it would do nothing."""
    names, where = {mark.name for mark in item.iter_markers()}, item.nodeid
    if not any(name.startswith("eos") for name in names):
        return
    refuse_unknown(names, item.config, where)
    params = getattr(getattr(item, "callspec", None), "params", {})
    if "eos_zombie" in names and "eos_zombie_spec" not in params:
        raise pytest.UsageError(f"{where}: eos_zombie raises no zombie here{_ELSEWHERE}")
    backend = item.get_closest_marker("eos_backend")
    if backend and backend.args and "eos_backend" in getattr(item, "fixturenames", ()) and "eos_backend" not in params:
        raise pytest.UsageError(f"{where}: eos_backend chooses no backend here{_ELSEWHERE}")
    if "eos_simulation" in names and isinstance(cls := getattr(item, "cls", None), type) and issubclass(cls, TestCase):
        raise pytest.UsageError(f"{where}: eos_simulation simulates nothing here{_ELSEWHERE}")


@dataclass(frozen=True, slots=True)
class ZombieSpec:
    """The zombie that a marker asks for."""

    step: TaskStep
    nth: int
    task: int | None
    who: str | None = None
    """The `driver` or an `executor` at a step of a micro-batch; None at a step of a connector's task."""
    how: str = FREEZE
    """Whether it is frozen and woken, or killed."""

    def __str__(self) -> str:
        return self.step.value


def zombie_specs(marker: pytest.Mark, where: str) -> list[ZombieSpec]:
    """One zombie for each step that the marker names; UsageError for wrong arguments."""
    given = dict(marker.kwargs)
    at = given.pop("at", marker.args[0] if len(marker.args) == 1 else None)
    nth, task = given.pop("nth", None), given.pop("task", None)
    who, how = given.pop("who", None), given.pop("how", None)
    if at is None or given or len(marker.args) > 1:
        odd = f"; unknown: {', '.join(given)}" if given else ""
        raise pytest.UsageError(f"{where}: write @pytest.mark.eos_zombie(at=STEP, nth=..., task=...){odd}")
    if nth is not None and (not isinstance(nth, int) or nth < 1):
        raise pytest.UsageError(f"{where}: nth counts from 1, so it cannot be {nth!r}")
    found = steps(at, where, micro_batch=True)
    if not found:
        raise pytest.UsageError(f"{where}: eos_zombie names no step, so its test would be skipped")
    _check_process(who, how, found, where)
    return [ZombieSpec(step, nth or _usual_nth(step), task, who or _usual_who(step), how or FREEZE) for step in found]


def _check_process(who: str | None, how: str | None, found: Sequence[TaskStep], where: str) -> None:
    """UsageError for a process or a fate that does not exist, or that the steps know nothing of."""
    from eosfw.observe import MICRO_BATCH

    for name, value, known in (("who", who, (DRIVER, EXECUTOR)), ("how", how, (FREEZE, KILL))):
        if value is None:
            continue
        if value not in known:
            raise pytest.UsageError(f"{where}: eos_zombie has no {name}={value!r}{suggestion(str(value), known)}")
        if odd := [step.value for step in found if step not in MICRO_BATCH]:
            raise pytest.UsageError(f"{where}: {name}={value!r} is for steps of a micro-batch, not for {odd[0]}")


def steps(at: object, where: str, *, micro_batch: bool = False) -> list[TaskStep]:
    """The steps of a name, a TaskStep, a group of steps, or a list of them; those of micro-batches only if asked."""
    from eosfw.observe import MICRO_BATCH, STARTUP, TRANSACTION, TaskStep

    of_tasks = (*STARTUP, *TRANSACTION)
    groups = dict(zip(_GROUPS, (of_tasks, STARTUP, TRANSACTION), strict=True))
    if micro_batch:
        groups[_BATCH] = MICRO_BATCH
    if isinstance(at, str) and at in groups:
        return list(groups[at])
    named: Iterable[object] = [at] if isinstance(at, str | TaskStep) else at if isinstance(at, Iterable) else [at]
    possible = (*of_tasks, *MICRO_BATCH) if micro_batch else of_tasks
    return [_step(one, possible, where, _owner(one), tuple(groups)) for one in named]


def one_step(at: object, where: str) -> TaskStep:
    """The step of a task that a name means; UsageError for several of them."""
    found = steps(at, where)
    if len(found) != 1:
        raise pytest.UsageError(f"{where}: a zombie is frozen at one step, and {at!r} names {len(found)}")
    return found[0]


def _owner(name: object) -> str:
    return "a micro-batch" if str(getattr(name, "value", name)).startswith(_BATCH) else "a task"


def leader_step(at: object, where: str) -> TaskStep:
    """One of the leader's steps, by its name."""
    from eosfw.observe import LEADER

    return _step(at, LEADER, where, "a leader", ())


def _step(name: object, possible: Sequence[TaskStep], where: str, who: str, groups: Sequence[str]) -> TaskStep:
    for step in possible:
        if name in (step, step.value, step.name):
            return step
    words = [*(step.value for step in possible), *groups]
    shown = getattr(name, "value", name)
    raise pytest.UsageError(f"{where}: {who} has no step {shown!r} to freeze at{suggestion(str(shown), words)}")


def suggestion(name: str, known: Sequence[str], *, dashes: bool = True) -> str:
    """The nearest known name and all known names; `dashes` for names written with dashes."""
    from eosfw.config import nearest

    near = nearest(name.lower().replace("_", "-") if dashes else name.lower(), known)
    return (f"; did you mean {near!r}?" if near else ".") + f" There are: {', '.join(known) or 'none'}"


def _usual_nth(step: TaskStep) -> int:
    """The second time for a transaction or a batch: by then there is something committed for the successor to read."""
    from eosfw.observe import MICRO_BATCH, TRANSACTION, TaskStep

    if step in (TaskStep.FENCE_BATCH, TaskStep.READ_TOKEN):  # once for each committer, which keeps its producer
        return 1
    return 2 if step in TRANSACTION or step in MICRO_BATCH else 1


def _usual_who(step: TaskStep) -> str | None:
    """Who does the step in mode `atomic`, and reads small batches; None for a step of a connector's task."""
    from eosfw.observe import MICRO_BATCH, TaskStep

    if step not in MICRO_BATCH:
        return None
    return EXECUTOR if step in (TaskStep.WRITE_BATCH, TaskStep.STAGED_BATCH) else DRIVER


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The embedded cluster that a marker asks for."""

    security: str | None = None
    """How it is reached; None without any protection."""
    rights: Mapping[str, Sequence[str]] | None = None
    """The rights of its users; None where everybody may do everything."""


NO_SECURITY = ClusterSpec()


def cluster_spec(marker: pytest.Mark | None, chosen: str | None, where: str) -> ClusterSpec:
    """The test's cluster; UsageError for one that does not exist."""
    if marker is None:
        return ClusterSpec(chosen)
    if marker.args or not marker.kwargs or not marker.kwargs.keys() <= {"security", "rights"}:
        raise pytest.UsageError(f"{where}: write @pytest.mark.eos_cluster(security=PROTOCOL, rights={{USER: [...]}})")
    rights = marker.kwargs.get("rights")
    wanted = marker.kwargs.get("security", _SASL[0] if rights is not None else None)
    if wanted not in PROTOCOLS:
        raise pytest.UsageError(f"{where}: no security={wanted!r}{suggestion(str(wanted), PROTOCOLS, dashes=False)}")
    if rights is not None and not _are_rights(rights):
        raise pytest.UsageError(f"{where}: write rights={{'alice': ['Write on topic orders']}}, not {rights!r}")
    if rights is not None and wanted not in _SASL:
        raise pytest.UsageError(f"{where}: rights are those of users, whom security={' or '.join(_SASL)} has")
    return ClusterSpec(None if wanted == PLAINTEXT else str(wanted), rights)


def _are_rights(given: object) -> bool:
    return isinstance(given, Mapping) and _are_names(given.keys()) and all(map(_are_names, given.values()))


def _are_names(given: object) -> bool:
    """Whether it is a list of texts, or another collection of them; a text itself would be one of letters."""
    return isinstance(given, Collection) and not isinstance(given, str) and all(isinstance(one, str) for one in given)


def check_backend(marker: pytest.Mark, where: str) -> None:
    """UsageError for a marker `eos_backend` with wrong arguments."""
    needs = marker.kwargs.get("needs", ())
    if marker.kwargs.keys() - {"needs"} or not (_are_names(marker.args) and _are_names(needs)):
        raise pytest.UsageError(f"{where}: write @pytest.mark.eos_backend(NAME, ..., needs=[CAPABILITY, ...])")


def backends(marker: pytest.Mark | None, chosen: Sequence[str], where: str) -> list[str]:
    """The backends that a test runs on; UsageError for one that is not installed."""
    from pytest_eos.environment.config.installed_plugins import installed_plugins

    there = installed_plugins().names("backend")
    wanted = list(marker.args) if marker is not None and marker.args else list(chosen)
    found = [name for word in wanted for name in (there if word == "all" else (word,))]
    for name in found:
        if name not in there:
            raise pytest.UsageError(f"{where}: no backend {name!r} is installed{suggestion(name, there)}")
    return list(dict.fromkeys(found))
