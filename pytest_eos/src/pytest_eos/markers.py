"""The markers of a test, checked: an error names the nearest name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from eosfw.observe import TaskStep

LINES = (
    (
        "eos_zombie(at=STEP, nth=None, task=None): run the test once per step (names, TaskSteps, `startup`,"
        " `transaction`, `all`); `eos.run` then freezes a task at that step, lets a successor start, wakes it"
    ),
    "eos_backend(*names, needs=()): run the test over these backends; `needs` names capabilities it cannot do without",
    "eos_needs(*capabilities): what a backend must declare for a contract's test to apply to it",
    "eos_clock(CLOCK): whether the test's time is `virtual` or `real`, whatever --eos-clock says",
    "eos_spark: needs PySpark with Java 17 or later",
)
_GROUPS = ("all", "startup", "transaction")


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


@dataclass(frozen=True, slots=True)
class ZombieSpec:
    """The zombie that a marker asks for."""

    step: TaskStep
    nth: int
    task: int | None

    def __str__(self) -> str:
        return self.step.value


def zombie_specs(marker: pytest.Mark, where: str) -> list[ZombieSpec]:
    """One zombie for each step that the marker names; UsageError for wrong arguments."""
    given = dict(marker.kwargs)
    at = given.pop("at", marker.args[0] if len(marker.args) == 1 else None)
    nth, task = given.pop("nth", None), given.pop("task", None)
    if at is None or given or len(marker.args) > 1:
        odd = f"; unknown: {', '.join(given)}" if given else ""
        raise pytest.UsageError(f"{where}: write @pytest.mark.eos_zombie(at=STEP, nth=..., task=...){odd}")
    return [ZombieSpec(step, nth or _usual_nth(step), task) for step in steps(at, where)]


def steps(at: object, where: str) -> list[TaskStep]:
    """The steps of a name, a TaskStep, a group of steps, or a list of them."""
    from eosfw.observe import STARTUP, TRANSACTION, TaskStep

    possible = (*STARTUP, *TRANSACTION)
    groups = dict(zip(_GROUPS, (possible, STARTUP, TRANSACTION), strict=True))
    if isinstance(at, str) and at in groups:
        return list(groups[at])
    named: Iterable[object] = [at] if isinstance(at, str | TaskStep) else at if isinstance(at, Iterable) else [at]
    return [_step(one, possible, where) for one in named]


def leader_step(at: object, where: str) -> TaskStep:
    """One of the leader's steps, by its name."""
    from eosfw.observe import LEADER

    return _step(at, LEADER, where, "a leader", ())


def _step(
    name: object, possible: Sequence[TaskStep], where: str, who: str = "a task", groups: Sequence[str] = _GROUPS
) -> TaskStep:
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
    return (f"; did you mean {near!r}?" if near else ".") + f" There are: {', '.join(known)}"


def _usual_nth(step: TaskStep) -> int:
    """The second time for steps of a transaction: by then there are committed offsets for the successor to read."""
    from eosfw.observe import TRANSACTION

    return 2 if step in TRANSACTION else 1


def backends(marker: pytest.Mark | None, chosen: Sequence[str], where: str) -> list[str]:
    """The backends that a test runs on; UsageError for one that is not installed."""
    from pytest_eos.installed_plugins import installed_plugins

    there = installed_plugins().names("backend")
    wanted = list(marker.args) if marker is not None and marker.args else list(chosen)
    found = [name for word in wanted for name in (there if word == "all" else (word,))]
    for name in found:
        if name not in there:
            raise pytest.UsageError(f"{where}: no backend {name!r} is installed{suggestion(name, there)}")
    return list(dict.fromkeys(found))
