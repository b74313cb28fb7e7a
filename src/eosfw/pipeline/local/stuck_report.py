"""A report on what a run that does not end is doing."""

from __future__ import annotations

from eosfw.observe import History
from eosfw.runtime import WorkerStatus
from eosfw.text import quantity


def report(history: History, status: WorkerStatus) -> str:
    """Each task's step, why its polls fail, and the transaction that has been open longest."""
    lines = [
        f"task {lane.connector}-{lane.task} of generation {lane.generation}: step {event.step.value}"
        for lane, event in sorted(history.last_steps().items())
    ]
    if not lines:
        lines.append("no task was started")
    failing = sorted(status.poll_failures.items(), key=lambda item: not item[1].ongoing)
    lines += [f"task {task}: {failures}" for task, failures in failing]
    oldest = history.oldest_open_transaction()
    if oldest is None:
        lines.append("no transaction is open")
    else:
        held = f"{quantity(oldest.records, 'record')}, open for {oldest.age:.0f} s"
        lines.append(f"oldest open transaction: {oldest.transactional_id}, {held}")
    return "\n".join(lines)
