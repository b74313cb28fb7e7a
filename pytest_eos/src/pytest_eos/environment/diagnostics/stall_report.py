"""A report of why a run makes no progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eosfw.config.connector import BOUNDARY
from eosfw.protocols import OpenTransaction
from eosfw.runtime import TaskState, TaskStatus
from eosfw.text import quantity
from pytest_eos.environment.config.clocks import NEEDS_REAL
from pytest_eos.environment.diagnostics.task_calls import CallLog, TaskCalls


def stall_report(
    tasks: Sequence[TaskStatus], log: CallLog, connectors: Mapping[str, Mapping[str, str]], *, virtual: bool
) -> str:
    """The most likely cause in a sentence, then a line for each task."""
    if not tasks:
        return "no task was started"
    known = {calls.name: calls for calls in log.tasks}
    causes: list[tuple[int, str]] = []
    lines = []
    for task in tasks:
        calls = known.get(str(task.id), TaskCalls(str(task.id)))
        own_ends = connectors.get(task.id.connector, {}).get(BOUNDARY) == "connector"
        causes += _causes(task, calls, own_ends=own_ends)
        step = "" if task.step is None else f", its last step {task.step.value}"
        lines.append(f"  {calls}, {_transaction(task)}; {task.state.value} of generation {task.generation}{step}")
    hint = NEEDS_REAL if virtual and not any(calls.polled_something for calls in known.values()) else ""
    cause = min(causes)[1] if causes else hint or "every task is at work"
    return "\n".join([cause, *lines])


def _causes(task: TaskStatus, calls: TaskCalls, *, own_ends: bool) -> Iterator[tuple[int, str]]:
    """The possible causes, each with its rank; the most likely one has the lowest."""
    if task.state is TaskState.UNASSIGNED:
        step = "nothing yet" if task.step is None else task.step.value
        yield 4, f"task {task.id} has not started: {task.waiting or f'its last step is {step}'}"
        return
    if calls.failing:
        yield 0, f"polls of task {task.id} fail: {calls.failures()}"
    elif calls.calling is not None:
        yield 1, f"{calls.calling} of task {task.id} has not returned{calls.place()}"
    elif own_ends and task.open_records:
        yield (
            2,
            f"task {task.id} did not ask to end its transaction, which holds {quantity(task.open_records, 'record')}",
        )
    elif task.at_end is False:
        yield 3, f"task {task.id} gives no records, yet its at_end says that there are more (False)"


def _transaction(task: TaskStatus) -> str:
    return (
        f"{quantity(task.open_records, 'record')} in an open transaction"
        if task.open_records
        else "no open transaction"
    )


def open_transactions_text(transactions: Sequence[OpenTransaction]) -> str:
    """The transactional ids of open transactions, as text."""
    lines = [
        f"{one.transactional_id} has one open in {one.partition} since offset {one.first_offset}, for {one.age:.0f} s"
        for one in transactions
    ]
    return "; ".join(lines) or "nobody tells whose is open"
