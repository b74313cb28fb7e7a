"""Draw the faults of one simulated run from its seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

REQUESTS: Final = (
    "Produce",
    "EndTxn",
    "InitProducerId",
    "AddPartitionsToTxn",
    "FindCoordinator",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "OffsetCommit",
    "OffsetFetch",
    "CreateTopics",
    "any",
)
"""The requests that faults strike; those of transactions come first, and are drawn more often."""
POINTS: Final = (
    "before-prepare",
    "after-prepare",
    "before-marker",
    "after-marker",
    "before-complete",
    "before-append",
    "after-append",
    "before-empty",
    "after-empty",
    "before-ongoing",
    "after-ongoing",
    "after-EndTxn",
    "after-InitProducerId",
)
"""The points at which the broker stops."""
STEPS: Final = (
    "commit",
    "send-offsets",
    "send",
    "begin",
    "init-producer",
    "check-ownership",
    "read-offsets",
    "read-config",
    "poll",
    "committed",
    "request-fencing",
    "start-task",
    "fence-zombies",
    "check-generation",
    "write-task-count",
    "write-task-configs",
    "publish-assignment",
    "claim-leadership",
)
"""The steps of a worker's tasks, and of a leader, before which something happens to it; the first are likelier."""
POLL_SECONDS: Final = (0.0, 0.0, 0.02, 0.2, 1.5)
"""How long a source takes for each poll: not at all, or so long that other things happen meanwhile."""
SECONDS: Final = (0.05, 0.5, 3.0, 12.0, 75.0)
"""How long something lasts: shorter and longer than requests, sessions (10 s) and transactions (60 s)."""
ZOMBIE_SECONDS: Final = (3.0, 15.0, 15.0, 30.0, 50.0, 75.0)
"""How long a worker stands still that is to have a successor: mostly longer than its session, within a transaction."""
ZOMBIE_STEPS: Final = (
    "poll",
    "begin",
    "send",
    "send-offsets",
    "commit",
    "init-producer",
    "read-config",
    "check-ownership",
    "read-offsets",
    "start-task",
)
"""Before which it stands still: any of them alike, since another protection is at work in each."""
DIRECTIONS: Final = ("requests", "answers", "both", "workers")
"""What a partition cuts off: requests to the broker, its answers, both, or the requests of other workers."""
SILENT: Final = "no error tells its sender"
CLOCK_ERRORS: Final = ("-5400", "-900", "-70", "-20", "+20", "+70", "+900", "+5400")
"""By how many seconds a worker's clock is wrong: less and more than the 60 s within which requests between workers are
fresh, and the hour after which a session key is replaced and the broker refuses records of the future."""
_WORKERS: Final = (1, 2, 2, 3, 3)
"""How many workers a group has."""
_SHARE: Final = 0.4
"""In which share of the seeds a kind of faults is on."""
_SHARES: Final[Mapping[str, float]] = {
    "clock": 0.2,
    "power-cut": 0.2,
    "recovery-cut": 0.1,
    "disk-error": 0.1,
    "disk-full": 0.1,
    "wrong-bytes": 0.1,
}
"""The share of those that hide others, or take long: what no worker can do no fault meets, and files are slow."""
_MOST: Final = 3
"""How many faults of one kind a run has at most."""
EARLY: Final = ", and once before"
DISK_CALLS: Final[Mapping[str, int]] = {"fsync": 120, "write": 150, "rename": 6, "create": 3}
"""The calls of a disk that fail, the likelier first, and how many of them pass at most before that."""
DISK_FAILS: Final = ("disk-error", "disk-full", "wrong-bytes")
"""The kinds in which the broker's disk does not do what it should."""
DAMAGED_FILES: Final = (
    "log",
    "log",
    "log",
    "index",
    "snapshot",
    "incarnation",
    "producer-ids",
    "topics.json",
    "topics.journal",
    "meta.properties",
    ".running",
)
DAMAGES: Final = ("bit", "zeros", "old")
"""Which files have wrong bytes, and which bytes those are."""
ON_DISK: Final = ("power-cut", "recovery-cut", *DISK_FAILS)
"""The kinds that want a broker on files."""
_LATEST_POINT: Final = 12
_LATEST_STEP: Final = 8
ANY_WORKER: Final = "any"


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault: what happens, to what, when, for how long."""

    kind: str
    target: str
    """The request, the point of the broker, or the worker; `any`: whichever comes to the step."""
    nth: int
    """Which request, point or step, or which yield point of the worker."""
    seconds: float = 0.0
    """How long it lasts."""
    detail: str = ""
    """The direction of a partition, whether a loss is silent, the number of tasks, the seconds a clock is ahead, how
    often something happens again."""
    step: str = ""
    """The step of the worker before which it happens; empty for a yield point."""

    @property
    def moment(self) -> str:
        """When it happens to a worker."""
        return f"before step {self.step} no. {self.nth}" if self.step else f"at its yield point {self.nth}"

    def __str__(self) -> str:
        return _TEXTS[self.kind].format(fault=self)


_TEXTS: Final[Mapping[str, str]] = {
    "delay": "request {fault.target} no. {fault.nth} arrives {fault.seconds:g} s late",
    "drop": "request {fault.target} no. {fault.nth} is lost ({fault.detail})",
    "lose": "the answer to {fault.target} no. {fault.nth} is lost ({fault.detail})",
    "repeat": "request {fault.target} no. {fault.nth} arrives twice",
    "broker-restart": "the broker stops {fault.target} (no. {fault.nth}), for {fault.seconds:g} s",
    "partition": "worker {fault.target} is cut off ({fault.detail}) {fault.moment}, for {fault.seconds:g} s",
    "pause": "worker {fault.target} stands still {fault.moment}, for {fault.seconds:g} s",
    "crash": "worker {fault.target} is killed {fault.moment}, and started again after {fault.seconds:g} s",
    "reconfigure": "the connector gets tasks.max={fault.detail} when worker {fault.target} is {fault.moment}",
    "take-over": "worker {fault.target} stands still {fault.moment}, for {fault.seconds:g} s, and the connector gets "
    "tasks.max={fault.detail} meanwhile",
    "power-cut": "the broker's machine loses power {fault.target} (no. {fault.nth}), for {fault.seconds:g} s",
    "recovery-cut": "the broker's machine loses power {fault.target} (no. {fault.nth}), for {fault.seconds:g} s, and "
    "{fault.detail} more times while it recovers",
    "disk-error": "{fault.target} no. {fault.nth} of the broker's disk fails, and an operator starts the broker again "
    "after {fault.seconds:g} s",
    "disk-full": "the broker's disk is full at {fault.target} no. {fault.nth}, for {fault.seconds:g} s; then the "
    "broker is started again{fault.detail}",
    "wrong-bytes": "the broker is killed {fault.target} (no. {fault.nth}), and finds wrong bytes in one of its files "
    "({fault.detail})",
    "clock": "the clock of worker {fault.target} is wrong by {fault.detail} s {fault.moment}, for {fault.seconds:g} s",
}


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """What one seed draws: the workers and the faults, of which a shrunk plan keeps some."""

    seed: int
    workers: int
    settled: bool
    """Whether all workers are at work before faults happen and the connector is created; else faults come at once."""
    poll_seconds: float
    """How long each poll of a source takes."""
    faults: Sequence[PlannedFault]
    kept: tuple[int, ...] | None = None
    """The faults that happen, by number; None for all of them."""

    @property
    def active(self) -> Mapping[int, PlannedFault]:
        """The faults that are to happen, by number."""
        return {number: fault for number, fault in enumerate(self.faults) if self.kept is None or number in self.kept}

    @property
    def on_disk(self) -> bool:
        """Whether the broker keeps its logs in files, and acknowledges what fsync has confirmed."""
        return any(fault.kind in ON_DISK for fault in self.faults)

    @property
    def disk_fails(self) -> bool:
        """Whether its disk does not do what it should."""
        return any(fault.kind in DISK_FAILS for fault in self.faults)

    @property
    def token(self) -> str:
        """What `--eos-simulation-seed` takes: the seed, and the faults that are kept if not all are."""
        return str(self.seed) if self.kept is None else f"{self.seed}:{','.join(map(str, self.kept))}"

    def keeping(self, kept: Sequence[int]) -> FaultPlan:
        """The same plan with some of its faults only."""
        return replace(self, kept=tuple(sorted(kept)))


class Targets(NamedTuple):
    """What the faults of a run may strike."""

    workers: Sequence[str]
    requests: Sequence[str]
    steps: Sequence[str]
    latest_request: int = 60
    """Up to which of its requests a request is struck."""
    latest_yield: int = 4000
    """Up to which of its yield points a worker is struck."""


@dataclass(frozen=True, slots=True)
class System:
    """What runs under faults, and which kinds of them there are."""

    sizes: Sequence[int]
    """How many workers there are, to be drawn from."""
    targets: Callable[[int], Targets]
    """What may be struck among so many workers."""
    kinds: Mapping[str, Make]
    """Each kind of fault, and what draws one."""

    def draw_plan(self, seed: int) -> FaultPlan:
        """The plan of a seed; which kinds of faults are on is drawn first, so that seeds differ much (a swarm)."""
        draw = Draw(random.Random(f"{seed} faults"))  # noqa: S311 - repeatable on purpose, no secret
        workers = self.sizes[draw.below(len(self.sizes))]
        settled, poll_seconds = draw.chance() < 0.6, POLL_SECONDS[draw.below(len(POLL_SECONDS))]
        faults: list[PlannedFault] = []
        for kind, make in self.kinds.items():
            if draw.chance() < _SHARES.get(kind, _SHARE):
                faults += [make(kind, draw, self.targets(workers)) for _ in range(1 + draw.below(_MOST))]
        return FaultPlan(seed, workers, settled, poll_seconds, tuple(faults))


def draw_plan(seed: int) -> FaultPlan:
    """The plan of a seed for a group of workers."""
    return WORKERS.draw_plan(seed)


def parse_token(token: str, system: System | None = None) -> FaultPlan:
    """The plan of a token, by default for a group of workers; ValueError if it is none."""
    seed, colon, kept = token.partition(":")
    plan = (system or WORKERS).draw_plan(int(seed))
    if not colon:
        return plan
    numbers = [int(number) for number in kept.split(",") if number]
    if any(not 0 <= number < len(plan.faults) for number in numbers):
        raise ValueError(f"seed {seed} has the faults 0 to {len(plan.faults) - 1} alone")
    return plan.keeping(numbers)


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws by `random()` alone, whose results are the same in every version of Python."""

    source: random.Random = field(repr=False)

    def chance(self) -> float:
        """A number from 0 to 1."""
        return self.source.random()

    def below(self, limit: int) -> int:
        """A whole number from 0, less than the limit."""
        return int(self.source.random() * limit)

    def early(self, limit: int) -> int:
        """A whole number from 1 to the limit; small ones are likelier."""
        return 1 + int(self.source.random() ** 2 * limit)

    def of(self, ones: Sequence[str]) -> str:
        """One of these; the first ones are likelier."""
        return ones[int(self.source.random() ** 2 * len(ones))]

    def seconds(self) -> float:
        """How long something lasts; short times are likelier."""
        return SECONDS[int(self.source.random() ** 1.5 * len(SECONDS))]


Make = Callable[[str, Draw, Targets], PlannedFault]
"""Draws one fault of a kind."""


def on_request(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    """A fault of a request."""
    request, nth = draw.of(targets.requests), draw.early(targets.latest_request)
    silent = SILENT if draw.chance() < 0.3 else "the connection closes"
    seconds = draw.seconds() if kind == "delay" else 0.0
    return PlannedFault(kind, request, nth, seconds, silent if kind in ("drop", "lose") else "")


def restart(kind: str, draw: Draw, targets: Targets) -> PlannedFault:  # noqa: ARG001 - as all of them are called
    """The broker stops."""
    down = draw.seconds() if draw.chance() < 0.5 else 0.0
    return PlannedFault(kind, POINTS[draw.below(len(POINTS))], draw.early(_LATEST_POINT), down)


def recovery_cut(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    """The power is cut again while the broker recovers."""
    return replace(restart(kind, draw, targets), detail=str(1 + draw.below(_MOST)))


def on_disk(kind: str, draw: Draw, targets: Targets) -> PlannedFault:  # noqa: ARG001 - as all of them are called
    """A call of the broker's disk fails, or finds it full."""
    call = draw.of(tuple(DISK_CALLS))
    early = EARLY if kind == "disk-full" and draw.chance() < 0.4 else ""
    return PlannedFault(kind, call, draw.early(DISK_CALLS[call]), draw.seconds(), early)


def wrong_bytes(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    """A file of the broker has wrong bytes when it starts again."""
    file, how = DAMAGED_FILES[draw.below(len(DAMAGED_FILES))], DAMAGES[draw.below(len(DAMAGES))]
    return replace(restart(kind, draw, targets), seconds=0.0, detail=f"{file}: {how}")


def on_worker(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    """A fault of a worker, at a step or at a yield point."""
    step = draw.of(targets.steps) if draw.chance() < 0.6 else ""
    worker = ANY_WORKER if step else targets.workers[draw.below(len(targets.workers))]
    nth = draw.early(_LATEST_STEP if step else targets.latest_yield)
    detail = DIRECTIONS[draw.below(len(DIRECTIONS))] if kind == "partition" else ""
    if kind == "reconfigure":
        return PlannedFault(kind, worker, nth, 0.0, str(1 + draw.below(3)), step)
    return PlannedFault(kind, worker, nth, draw.seconds(), detail, step)


def _take_over(kind: str, draw: Draw, targets: Targets) -> PlannedFault:  # noqa: ARG001 - as all of them are called
    seconds = ZOMBIE_SECONDS[draw.below(len(ZOMBIE_SECONDS))]
    tasks = str(1 + int(draw.chance() ** 2 * 3))
    step = ZOMBIE_STEPS[draw.below(len(ZOMBIE_STEPS))]
    return PlannedFault(kind, ANY_WORKER, draw.early(_LATEST_STEP), seconds, tasks, step)


def clock(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    """The clock of a worker is wrong for a while."""
    drawn = on_worker(kind, draw, targets)
    seconds = ZOMBIE_SECONDS[draw.below(len(ZOMBIE_SECONDS))]
    return replace(drawn, seconds=seconds, detail=CLOCK_ERRORS[draw.below(len(CLOCK_ERRORS))])


WORKERS: Final = System(
    sizes=_WORKERS,
    targets=lambda workers: Targets("abc"[:workers], REQUESTS, STEPS),
    kinds={
        "delay": on_request,
        "drop": on_request,
        "lose": on_request,
        "repeat": on_request,
        "broker-restart": restart,
        "partition": on_worker,
        "pause": on_worker,
        "crash": on_worker,
        "reconfigure": on_worker,
        "take-over": _take_over,
        "clock": clock,
        "power-cut": restart,
        "recovery-cut": recovery_cut,
        "disk-error": on_disk,
        "disk-full": on_disk,
        "wrong-bytes": wrong_bytes,
    },
)
"""A group of workers."""
KINDS: Final = tuple(WORKERS.kinds)
"""The kinds of faults of a group of workers."""
