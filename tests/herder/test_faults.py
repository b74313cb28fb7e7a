"""One guarantee under every fault: each record once, every task at work without help, no transaction left open."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest
from tests.herder.worker_groups import Workers, workers

from eosfw.errors import ClusterUnavailableError
from eosfw.ids import TopicPartition
from eosfw.observe import LEADER, STARTUP, TRANSACTION, Gate, Gates, History, StepEvent, TaskStep
from eosfw.protocols import RestResponse
from eosfw.state.storage.config_records import COMMIT
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.log.partition_log import PartitionLog
from pytest_eos.environment.clusters import freezable_backend

TASKS = 5
TASK_STEPS = (*STARTUP, *TRANSACTION, TaskStep.COMMITTED)
STEPS = (*TASK_STEPS, TaskStep.ACKNOWLEDGE_ASSIGNMENT, *LEADER)


class Interrupter:
    """An observer that raises, once it is armed, at the first such step of any worker."""

    name: ClassVar[str] = "interrupter"

    def __init__(self, armed: list[TaskStep]) -> None:
        self._armed = armed
        self.interrupted = False

    def observe(self, event: StepEvent) -> None:
        """Raise what `Announcer` lets pass: no Exception."""
        if event.step in self._armed:
            self._armed.clear()
            self.interrupted = True
            raise CancelledError


@dataclass
class Scene:
    """A group of three workers at work, each with gates and an interrupter of its own."""

    group: Workers
    history: History
    gates: dict[str, Gates] = field(default_factory=dict)
    interrupters: dict[str, Interrupter] = field(default_factory=dict)
    armed: list[TaskStep] = field(default_factory=list)
    """The step at which the next worker is interrupted."""

    def start(self, name: str) -> None:
        """Start a worker."""
        gates = self.gates[name] = Gates(self.group.runtime)
        interrupter = self.interrupters[name] = Interrupter(self.armed)
        self.group.start(name, self.history, gates, interrupter)

    def freeze(self, step: TaskStep) -> dict[str, Gate]:
        """A gate before a step in each worker."""
        return {name: self.gates[name].freeze(step) for name in self.group.workers}

    def provoke(self, step: TaskStep) -> None:
        """Do what makes some worker come to a step."""
        if step is TaskStep.CLAIM_LEADERSHIP:
            self.group.kill(self.group.leader_name())
        elif step is TaskStep.ACKNOWLEDGE_ASSIGNMENT:
            self.start("d")
        elif step not in TRANSACTION:
            self.group.put(TASKS - 1)

    def count(self, step: TaskStep) -> int:
        """How often a step was announced."""
        return sum(event.step is step for event in self.history.events())


@contextmanager
def scene(**worker: str) -> Iterator[Scene]:
    """Three workers that share the tasks."""
    with workers(scheduled_rebalance_max_delay_ms="0", **worker) as group:
        made = Scene(group, History(group.runtime))
        try:
            for name in "abc":
                made.start(name)
            group.put(TASKS)
            group.until_shared(1, 2, 2)
            group.until_more()
            yield made
        finally:
            for gates in made.gates.values():
                gates.close()


def judge(group: Workers) -> None:
    """Every task runs without a restart by hand, every record is there once, no transaction is left open."""
    group.until(lambda: sum(group.shares().values()) == _configured(group), "every task at work", 180.0)
    group.until_more()
    assert group.failures() == []
    for name in list(group.workers):
        group.stop(name)
    group.until(lambda: not group.cluster.local.open_transactions(), "the end of each transaction")
    group.check_exactly_once()


def _configured(group: Workers) -> int:
    return len(group.leader().task_infos("c"))


# --- the faults; each returns once it has happened


def crash_before(step: TaskStep) -> Callable[[Scene], None]:
    """Kill the worker that comes to a step."""

    def fault(found: Scene) -> None:
        gates = found.freeze(step)
        found.provoke(step)
        found.group.until(lambda: any(gate.fired for gate in gates.values()), f"a worker before {step.value}")
        found.group.kill(next(name for name, gate in gates.items() if gate.fired))
        for gate in gates.values():
            gate.open()

    return fault


def interrupt_at(step: TaskStep) -> Callable[[Scene], None]:
    """Raise what nobody catches in the thread that does a step, then end its worker, as Ctrl-C does."""

    def fault(found: Scene) -> None:
        found.armed.append(step)
        found.provoke(step)
        hit = found.interrupters
        found.group.until(lambda: any(one.interrupted for one in hit.values()), f"an interruption at {step.value}")
        found.group.stop(next(name for name, one in hit.items() if one.interrupted))

    return fault


def rebalance_twice(found: Scene) -> None:
    """A worker joins and leaves while a task stands in the middle of its transaction."""
    gate = next(iter(found.freeze(TaskStep.SEND_OFFSETS).values()))
    group = found.group
    group.until(lambda: gate.fired, "a task in a transaction")
    before = found.count(TaskStep.PUBLISH_ASSIGNMENT)
    found.start("d")
    group.until(lambda: bool(group.running("d")), "tasks of the new worker")
    group.stop("d")
    group.until(lambda: sum(group.shares().values()) >= TASKS - 1, "tasks of the others")
    assert found.count(TaskStep.PUBLISH_ASSIGNMENT) >= before + 2
    for gates in found.gates.values():
        gates.close()


def cut_network(kind: str) -> Callable[[Scene], None]:
    """Cut one follower's way to the leader, or the way back, or now and then."""

    def fault(found: Scene) -> None:
        group = found.group
        server: Any = group.network.servers[f"http://{group.follower_name()}:8083"]
        real, calls, until = server.request, [0, 0], group.runtime.now() + 15

        def request(*given: Any) -> RestResponse:
            calls[0] += 1
            cut = calls[0] % 2 == 1 if kind == "flapping" else group.runtime.now() < until
            answer = real(*given) if kind == "answers lost" or not cut else None
            if not cut:
                return real(*given) if answer is None else answer
            calls[1] += 1
            raise ClusterUnavailableError("the network is cut")

        server.request = request
        group.put(TASKS - 1)
        group.until(lambda: calls[1] > 0, "a request that was cut")

    return fault


def freeze_leader_before_commit_record(found: Scene) -> None:
    """The leader has written task configurations, and stands before their commit record, while another leads."""
    group, held = found.group, []
    victim = group.leader_name()
    real = freezable_backend._LeadersProducer.__getattr__

    def send_of(producer: Any, name: str) -> Any:
        send = real(producer, name)
        if name != "send" or held:
            return send

        def hold(record: Any, *more: Any) -> None:
            if record.key.startswith(COMMIT.encode()) and not held:
                producer._real.flush(10)
                held.append(record)
                group.freeze(victim)
                producer._worker.hold()
            send(record, *more)

        return hold

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(freezable_backend._LeadersProducer, "__getattr__", send_of)
        group.put(TASKS - 1)
        group.until(lambda: bool(held), "the leader before the commit record")
        group.until(lambda: group.leader_name() != victim, "another leader")
        group.put(TASKS)
        group.until(lambda: sum(group.shares().values()) == TASKS, "all tasks on the others")
        group.until_more()
        group.wake(victim)
        group.until(lambda: bool(group.running(victim)), "tasks of the worker that slept")


def compact_config_topic(found: Scene) -> None:
    """Keep the newest record of each key alone, between changes; then workers read that from its start."""
    group = found.group
    log = group.cluster.local.broker.topics.logs()[TopicPartition(f"{group.name}-configs", 0)]
    log.config = replace(log.config, min_dirty_ratio=0.0)
    for count, name in ((TASKS - 2, "d"), (1, "e"), (TASKS, "f")):
        group.put(count)
        group.until(lambda: _compacted(log, int(group.runtime.wall() * 1000)), "a topic to compact")
        found.start(name)
        group.stop(group.leader_name())
        group.until(lambda count=count: sum(group.shares().values()) == count, f"{count} tasks", 180.0)


def _compacted(log: PartitionLog, now_ms: int) -> bool:
    log._local._roll(now_ms)
    return compact(log, now_ms)


def stale_snapshot(step: TaskStep) -> Callable[[Scene], None]:
    """The leader fences by what it has read, and sleeps in that while newer configurations are committed."""

    def fault(found: Scene) -> None:
        gates, group = found.freeze(step), found.group
        group.put(TASKS - 1)
        group.until(lambda: any(gate.fired for gate in gates.values()), f"fencing before {step.value}")
        before = found.count(TaskStep.WRITE_TASK_CONFIGS)
        group.put(TASKS - 2)
        group.until(lambda: found.count(TaskStep.WRITE_TASK_CONFIGS) > before, "a newer generation")
        for gate in gates.values():
            gate.open()

    return fault


def rotate_session_key(found: Scene) -> None:
    """The key changes several times while followers wait for a fencing."""
    group = found.group

    def key() -> object:
        return group.leader()._services.topic.session_keys.current

    keys, gates = [key()], found.freeze(TaskStep.FENCE_ZOMBIES)
    group.put(TASKS - 1)
    group.until(lambda: any(gate.fired for gate in gates.values()), "a fencing")
    for _ in range(3):
        group.until(lambda: key() != keys[-1], "the next key")
        keys.append(key())
    for gate in gates.values():
        gate.open()


@dataclass(frozen=True)
class Fault:
    """What happens, to workers with which properties."""

    happen: Callable[[Scene], None]
    worker: dict[str, str] = field(default_factory=dict)


FAULTS = {
    **{f"crash before {step.value}": Fault(crash_before(step)) for step in STEPS},
    **{f"interruption at {step.value}": Fault(interrupt_at(step)) for step in TASK_STEPS},
    "two rebalances in a transaction": Fault(rebalance_twice),
    **{f"network, {kind}": Fault(cut_network(kind)) for kind in ("requests lost", "answers lost", "flapping")},
    "leader frozen before the commit record": Fault(freeze_leader_before_commit_record),
    "config topic compacted": Fault(compact_config_topic),
    "stale snapshot before fencing": Fault(stale_snapshot(TaskStep.FENCE_ZOMBIES)),
    "stale snapshot after fencing": Fault(stale_snapshot(TaskStep.WRITE_TASK_COUNT)),
    "session key rotated": Fault(rotate_session_key, {"inter_worker_key_ttl_ms": "1000"}),
}


# What a killed process would take with it: threads of its worker that wait for the group.
@pytest.mark.filterwarnings("ignore:ended with the virtual clock:pytest.PytestWarning")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_group_goes_on_by_itself_after_each_fault(fault):
    """A fault that does not happen fails its test: it waits for that in vain."""
    with scene(**fault.worker) as found:
        fault.happen(found)

        judge(found.group)
