"""Worker groups whose workers acknowledge when they are told to."""

from __future__ import annotations

from dataclasses import replace

from eosfw.ids import ConnectorTaskId
from eosfw.state.group.assignment import ClusterAssignment, GroupState, LiveWorker, assign

REBALANCE, DELAY = 60_000, 300_000


def tasks(**counts: int) -> frozenset[ConnectorTaskId]:
    return frozenset(ConnectorTaskId(name, number) for name, count in counts.items() for number in range(count))


class Group:
    """A group whose workers acknowledge when they are told to; time passes when it is told to."""

    def __init__(self, protocol: str = "sessioned", max_delay: int = DELAY, *, fenced: bool = True) -> None:
        self.protocol, self.max_delay, self.fenced = protocol, max_delay, fenced
        self.workers: dict[str, LiveWorker] = {}
        self.configured: frozenset[ConnectorTaskId] = frozenset()
        self.now = 0
        self.assignment = ClusterAssignment()

    def state(self) -> GroupState:
        return GroupState(
            leader=min(self.workers),
            configured=self.configured,
            workers=tuple(self.workers.values()),
            now=self.now,
            protocol=self.protocol,
            rebalance_timeout=REBALANCE,
            max_delay=self.max_delay,
            fenced=self.fenced,
        )

    def join(self, *names: str, assignable: bool = True) -> None:
        for name in names:
            url = f"http://{name.partition('.')[0]}"
            self.workers[name] = LiveWorker(name, url, self.assignment.number, assignable)

    def acknowledge(self, *names: str) -> None:
        for name in names:
            self.workers[name] = replace(self.workers[name], acknowledged=self.assignment.number)

    def round(self) -> ClusterAssignment:
        if self.workers:
            self.assignment = assign(self.assignment, self.state())
        return self.assignment

    def settle(self, seconds: float = 0) -> ClusterAssignment:
        self.now += int(seconds * 1000)
        for _ in range(10):
            before = self.assignment
            self.acknowledge(*self.workers)
            self.round()
            if self.assignment is before:
                return before
        raise AssertionError(f"it does not come to rest: {self.assignment}")

    def counts(self) -> dict[str, int]:
        return {name: len(share.tasks) for name, share in self.assignment.workers.items()}


def settled(*names: str, protocol: str = "sessioned", max_delay: int = DELAY, **connectors: int) -> Group:
    group = Group(protocol, max_delay)
    group.join(*names)
    group.configured = tasks(**connectors)
    group.settle()
    return group
