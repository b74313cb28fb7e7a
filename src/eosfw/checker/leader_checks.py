"""Whether the leader fences the right producers, and writes alone (KIP-618)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Facts
from eosfw.checker.operation import FAIL, INFO, INVOKE, NONE, OK, Operation

COMMIT, TASK_COUNT, TASK = "commit", "task-count", "task-"
"""What a record of the leader says, in the field `val` of `config`."""
_EXAMPLES: Final = 3


def wrong_fencing_ranges(facts: Facts) -> Iterator[Anomaly]:
    """Not exactly the tasks that the last task count before a generation speaks of are fenced for it.

    Too few leave zombies, too many shut out producers that have done nothing.
    """
    counts = _counts_before(facts)
    owners = {send.tid: send for send in reversed(facts.of("send", INVOKE)) if send.connector}
    for fence in facts.of("fence", INVOKE):
        record = counts.get((fence.connector, fence.gen))
        due = {str(number) for number in range(0 if record is None else record.count)}
        numbers = {_number(each, fence.connector) for each in fence.ids}
        if record is not None and numbers != due:
            what = f"for generation {fence.gen} of {fence.connector} {_named(fence.ids)} were fenced, of {record.count}"
            yield anomaly("wrong-fencing-range", f"{what} tasks before", [record, fence])
        strangers = (owners[each] for each in fence.ids if each in owners)
        other = next((send for send in strangers if send.connector != fence.connector), None)
        if other is not None:
            what = f"{other.tid} was fenced for {fence.connector}, and is a producer of {other.connector}"
            yield anomaly("wrong-fencing-range", what, [fence, other])


def _counts_before(facts: Facts) -> dict[tuple[str, int], Operation]:
    """For each connector and generation the last record of a number of tasks before its task configurations."""
    last: dict[str, Operation] = {}
    found: dict[tuple[str, int], Operation] = {}
    for record in _visible_configs(facts):
        if record.val == TASK_COUNT:
            last[record.connector] = record
        elif record.val == COMMIT and record.connector in last:
            found[record.connector, record.gen] = last[record.connector]
    return found


def _number(transactional_id: str, connector: str) -> str:
    """The number of the task, or all of an id that is none of this connector."""
    before, _, number = transactional_id.rpartition("-")
    return number if before.endswith(f"-{connector}") else transactional_id


def _named(ids: Iterable[str]) -> str:
    shown = sorted(ids)
    return ", ".join([*shown[:_EXAMPLES], *(["..."] if len(shown) > _EXAMPLES else [])]) or "no producers"


def writes_of_old_leaders(facts: Facts) -> Iterator[Anomaly]:
    """The config topic has a record of a leader behind the first record of its successor."""
    newest: dict[tuple[str, int], Operation] = {}
    for record in _configs(facts):
        before = newest.setdefault((record.part, record.pid), record)
        if record.pid != NONE and record.epoch < before.epoch:
            what = f"{record.part}@{record.off} is of a leader with epoch {record.epoch}, after one with {before.epoch}"
            yield anomaly("zombie-leader-write", what, [before, record])
        else:
            newest[record.part, record.pid] = record


def mixed_task_configs(facts: Facts) -> Iterator[Anomaly]:
    """A task starts in a generation that no commit record with a configuration for each of its tasks has begun."""
    written: dict[str, dict[str, Operation]] = defaultdict(dict)
    whole: set[tuple[str, int]] = set()
    incomplete: dict[str, list[Operation]] = defaultdict(list)
    for record in _visible_configs(facts):
        if record.val.startswith(TASK) and record.val != TASK_COUNT:
            written[record.connector][record.val] = record
        elif record.val == COMMIT:
            tasks = written.pop(record.connector, {})
            if all(f"{TASK}{number}" in tasks for number in range(record.count)):
                whole.add((record.connector, record.gen))
            else:
                incomplete[record.connector] = [*tasks.values(), record]
    for start in facts.of("start"):
        if (start.connector, start.gen) not in whole:
            what = f"{start.proc} starts in generation {start.gen}, for which not all task configurations were written"
            yield anomaly("mixed-task-configs", what, [*incomplete[start.connector], start])


def starts_without_fencing(facts: Facts) -> Iterator[Anomaly]:
    """A task polls although no fencing for its generation has succeeded, and one was begun."""
    done: dict[tuple[str, int], int] = {}
    for fence in facts.of("fence"):
        done.setdefault((fence.connector, fence.gen), fence.i)
    begun: dict[tuple[str, int], Operation] = {}
    for fence in facts.of("fence", INVOKE):
        begun.setdefault((fence.connector, fence.gen), fence)
    for start in facts.of("start"):
        fence_begun = begun.get((start.connector, start.gen))
        if fence_begun is None or fence_begun.i > start.i:
            continue
        if done.get((start.connector, start.gen), start.i) >= start.i:
            what = f"{start.proc} polls, and the fencing for generation {start.gen} has not succeeded"
            yield anomaly("unfenced-start", what, [fence_begun, start])


def failures_for_good(facts: Facts) -> Iterator[Anomaly]:
    """A task stays failed to the end although the fencing that it waited for may have succeeded at the next try."""
    started = {start.proc: start.i for start in reversed(facts.of("start"))}
    last_start = {(start.connector, start.gen): start.i for start in facts.of("start")}
    newest: dict[str, int] = defaultdict(lambda: NONE)
    for event in (*facts.of("fence", INVOKE), *facts.of("start")):
        newest[event.connector] = max(newest[event.connector], event.gen)
    for failed in {each.proc: each for each in facts.of("failed")}.values():
        generation = failed.connector, failed.gen
        fence = _last_fencing(facts, failed)
        again = last_start.get(generation, NONE) > failed.i or started.get(failed.proc, failed.i) < failed.i
        if fence is not None and fence.type == INFO and failed.gen == newest[failed.connector] and not again:
            what = f"{failed.proc} has failed for good, since nobody knows what came of the fencing for it"
            yield anomaly("failed-for-good", what, [fence, failed])


def _last_fencing(facts: Facts, failed: Operation) -> Operation | None:
    """How the last fencing for a task's generation ended before it failed."""
    ends = (fence for kind in (OK, FAIL, INFO) for fence in facts.of("fence", kind))
    own = (fence for fence in ends if (fence.connector, fence.gen) == (failed.connector, failed.gen))
    return max((fence for fence in own if fence.i < failed.i), key=lambda fence: fence.i, default=None)


def _configs(facts: Facts) -> list[Operation]:
    return sorted(facts.of("config"), key=lambda record: (record.part, record.off))


def _visible_configs(facts: Facts) -> Iterator[Operation]:
    return (record for record in _configs(facts) if record.visible)


CHECKS = (
    Check(("wrong-fencing-range",), ("fence.ids", "config"), wrong_fencing_ranges),
    Check(("zombie-leader-write",), ("config.epoch",), writes_of_old_leaders),
    Check(("mixed-task-configs",), ("config.gen", "start"), mixed_task_configs),
    Check(("unfenced-start",), ("fence", "start"), starts_without_fencing),
    Check(("failed-for-good",), ("failed", "fence", "start"), failures_for_good),
)
