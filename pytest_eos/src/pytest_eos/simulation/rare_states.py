"""Rare states of a group under faults, and how the history of a run tells that one was reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from eosfw.observe import StepEvent, TaskStep
from eosfw.runtime import MAX_CLOCK_SKEW_MS
from eosfw.test_support import RestartInspection

if TYPE_CHECKING:
    from pytest_eos.simulation.seeds import Played

Reached = Callable[["Played", Sequence[StepEvent]], bool]
"""Whether a run reached a state, by its events in the order of time."""
_SESSION, _TRANSACTION = 10.0, 60.0
"""Seconds of the session timeout and of the transaction timeout."""
_CHECKPOINT: Final = re.compile(r"\.(index|snapshot)(\.tmp)?$")


def _any_step(*steps: TaskStep) -> Reached:
    return lambda _, events: any(event.step in steps for event in events)


def between(first: TaskStep, then: TaskStep, last: TaskStep) -> Reached:
    """Whether one step came after another one, before the third that usually follows that."""

    def reached(_: Played, events: Sequence[StepEvent]) -> bool:
        within = False
        for event in events:
            if within and event.step is then:
                return True
            within = event.step is first or (within and event.step is not last)
        return False

    return reached


def _fired(kind: str, *targets: str, longer_than: float = -1.0) -> Reached:
    """Whether a fault of a kind happened, at one of the targets if there are any, that lasted long enough."""

    def reached(played: Played, _: Sequence[StepEvent]) -> bool:
        faults = [fault for number, fault in played.plan.active.items() if number in played.fired]
        return any(
            fault.kind == kind and (not targets or fault.target in targets) and fault.seconds > longer_than
            for fault in faults
        )

    return reached


def _unlearned_commit(_: Played, events: Sequence[StepEvent]) -> bool:
    """Whether a transactional id got a new producer while its task waited for the outcome of a commit."""
    committing = set[str | None]()
    for event in events:
        if event.step is TaskStep.INIT_PRODUCER and event.transactional_id in committing:
            return True
        if event.step is TaskStep.COMMIT:
            committing.add(event.transactional_id)
        elif event.step in (TaskStep.COMMITTED, TaskStep.FENCED):
            committing.discard(event.transactional_id)
    return False


def _refused_for_its_time(played: Played, _: Sequence[StepEvent]) -> bool:
    """Whether a worker refused another one's request since their clocks differ by too much."""
    group = played.harness.group
    exchanges = [] if group is None else group.exchanges
    ages = [each.age for each in exchanges if not each.sent and not each.accepted]
    return any(age is not None and abs(age) * 1000 > MAX_CLOCK_SKEW_MS for age in ages)


def _of_broker(said: Callable[[RestartInspection], bool]) -> Reached:
    """Whether the broker says so of its restarts and its disk."""

    def reached(played: Played, _: Sequence[StepEvent]) -> bool:
        local: object = played.harness.cluster.local
        return isinstance(local, RestartInspection) and said(local)

    return reached


def _leaders(_: Played, events: Sequence[StepEvent]) -> bool:
    return sum(event.step is TaskStep.CLAIM_LEADERSHIP for event in events) > 1


RARE_STATES: Final[Mapping[str, Reached]] = {
    "zombies of an earlier generation were fenced": _any_step(TaskStep.FENCE_ZOMBIES),
    "a replaced task met the error of a fencing": lambda played, _: played.harness.history.zombies_fenced > 0,
    "a task met the error of a fencing": _any_step(TaskStep.FENCED),
    "a task stopped since it had a successor": _any_step(TaskStep.SUPERSEDED),
    "a transaction was aborted by its task": _any_step(TaskStep.ABORT, TaskStep.ABORTED),
    "another worker led": _leaders,
    "a fencing round was overtaken by a configuration": between(
        TaskStep.FENCE_ZOMBIES, TaskStep.WRITE_TASK_CONFIGS, TaskStep.WRITE_TASK_COUNT
    ),
    "a leader was deposed between fencing and task count": between(
        TaskStep.FENCE_ZOMBIES, TaskStep.CLAIM_LEADERSHIP, TaskStep.WRITE_TASK_COUNT
    ),
    "an id was taken over while a commit was in flight": _unlearned_commit,
    "EndTxn came later than the transaction timeout": _fired("delay", "EndTxn", longer_than=_TRANSACTION),
    "Produce came later than the transaction timeout": _fired("delay", "Produce", longer_than=_TRANSACTION),
    "EndTxn came twice": _fired("repeat", "EndTxn"),
    "the answer to EndTxn was lost": _fired("lose", "EndTxn"),
    "the broker stopped between decision and markers": _fired("broker-restart", "after-prepare", "before-marker"),
    "the broker stopped between markers and completion": _fired("broker-restart", "after-marker", "before-complete"),
    "the power was cut between decision and markers": _fired("power-cut", "after-prepare", "before-marker"),
    "the power was cut between markers and completion": _fired("power-cut", "after-marker", "before-complete"),
    "the power was cut while the broker recovered": _of_broker(
        lambda broker: any(each.cut_short for each in broker.restarts)
    ),
    "an fsync failed for which an answer waited": _of_broker(
        lambda broker: any(each.call == "fsync" and each.waiting for each in broker.disk_failures)
    ),
    "the disk failed in the middle of a checkpoint": _of_broker(
        lambda broker: any(_CHECKPOINT.search(each.name) for each in broker.disk_failures)
    ),
    "the broker refused a damaged log": _of_broker(lambda broker: any(each.damage_refused for each in broker.restarts)),
    "the broker started on a full disk": _of_broker(lambda broker: any(each.read_only for each in broker.restarts)),
    "a worker stood still longer than its session": _fired("pause", longer_than=_SESSION),
    "a worker stood still longer than a transaction may": _fired("pause", longer_than=_TRANSACTION),
    "a request was refused since two clocks differ": _refused_for_its_time,
    "a task failed for good, and was started again by hand": lambda played, _: played.harness.restarted > 0,
}
"""Every rare state by its name."""
