"""The kinds of faults: what happens, at which moment, to which clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, TypeAlias

ANY_REQUEST = "any"
"""The `request` of a rule that is about every request."""
DISK_CALLS = ("write", "fsync", "rename", "create")
"""What a disk is asked to do, `create` for a directory."""
DISK_CODES = ("EIO", "ENOSPC")
"""The errors of a disk: it has failed, or is full."""
DAMAGED_FILES = (
    "log",
    "index",
    "snapshot",
    "incarnation",
    "producer-ids",
    "topics.json",
    "topics.journal",
    "meta.properties",
    ".running",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
DAMAGES = ("bit", "zeros", "old")


@dataclass(frozen=True, slots=True)
class _Moment:
    """The nth occurrence that the other fields match, counted from when the fault was added."""

    _: KW_ONLY
    nth: int = 1
    times: int = 1
    """At how many occurrences in a row it happens."""
    client_id: str | None = None
    transactional_id: str | None = None
    group_id: str | None = None
    topic: str | None = None
    only: Callable[[], bool] | None = None
    """Whether an occurrence counts, asked on the thread of its sender; for rules that are made in Python."""


@dataclass(frozen=True, slots=True)
class _OnRequest(_Moment):
    """Something happens to a request; `request` is its name in Kafka's protocol, such as `EndTxn`, or `any`."""

    request: str


@dataclass(frozen=True, slots=True)
class _AtPoint(_Moment):
    """Something happens when the broker reaches a named point (`eosfw_memory.faults.points`)."""

    at: str


@dataclass(frozen=True, slots=True)
class Delay(_OnRequest):
    """The request reaches the broker late: after `seconds`, or when the fault is released.

    It takes effect then, whether or not its sender still waits.
    """

    kind: ClassVar[str] = "delay"
    _: KW_ONLY
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Drop(_OnRequest):
    """The request is lost before it has any effect; the connection closes, or stays open if `silent`."""

    kind: ClassVar[str] = "drop"
    _: KW_ONLY
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Lose(_OnRequest):
    """The answer is lost after the request took effect; the connection closes, or stays open if `silent`."""

    kind: ClassVar[str] = "lose"
    _: KW_ONLY
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Repeat(_OnRequest):
    """The request is delivered `copies` times; its sender gets the last answer, the fault's `answers` has them all."""

    kind: ClassVar[str] = "repeat"
    _: KW_ONLY
    copies: int = 2


@dataclass(frozen=True, slots=True)
class Fail(_OnRequest):
    """The request is refused, without effect, with an error code of Kafka's, such as `NOT_COORDINATOR`."""

    kind: ClassVar[str] = "fail"
    code: str


@dataclass(frozen=True, slots=True)
class Refuse(_AtPoint):
    """What the broker is about to write is refused with an error code of Kafka's, as by a disk that is full.

    Only for the points before a write, such as `before-append`.
    """

    kind: ClassVar[str] = "refuse"
    code: str = "NOT_ENOUGH_REPLICAS"


@dataclass(frozen=True, slots=True)
class Restart(_AtPoint):
    """The broker stops on the spot, is away for `down` seconds, and starts anew from its logs.

    Every connection is dropped; nothing that was only in memory comes back.
    """

    kind: ClassVar[str] = "restart"
    _: KW_ONLY
    down: float = 0.0


@dataclass(frozen=True, slots=True)
class PowerCut(_AtPoint):
    """The broker's machine loses power on the spot, and starts again `down` seconds later, from what the disk has.

    Writes that no fsync confirmed are there or not, in any order, also in part. So many starts as `again` says are cut
    short by another one while they recover. Only for a broker that was started with `eosfw.power.cuts`, `log.dirs` and
    `log.flush.interval.messages=1`.
    """

    kind: ClassVar[str] = "power-cut"
    _: KW_ONLY
    down: float = 0.0
    again: int = 0


@dataclass(frozen=True, slots=True)
class DiskError(_Moment):
    """A call of the disk fails: `on` is `write`, `fsync`, `rename` or `create`, and `code` EIO or ENOSPC.

    With EIO a write may be there in part, and of what an fsync was to confirm any part is never on the disk, whatever a
    later one says. With ENOSPC there is no room any more. After `seconds` an operator has removed the cause and starts
    the broker again; with `early` once before that, too. Only for a broker with `eosfw.power.cuts`.
    """

    kind: ClassVar[str] = "disk-error"
    on: str
    _: KW_ONLY
    code: str = "EIO"
    seconds: float = 0.0
    early: bool = False


@dataclass(frozen=True, slots=True)
class WrongBytes(_AtPoint):
    """The broker is killed, and finds wrong bytes in one of its files when it starts again, at once.

    `file` is `log` (any segment), `index` or `snapshot` of some partition, or the name of another file of the data
    directory; `how` is a flipped `bit`, `zeros` or an `old` block. Where the start refuses the file, or whoever reads
    every log then, an operator restores it from a copy, and starts the broker again. A broker that would serve less
    than before, or something else, does not start. Only for a broker with `eosfw.power.cuts`.
    """

    kind: ClassVar[str] = "wrong-bytes"
    _: KW_ONLY
    file: str = "log"
    how: str = "bit"


@dataclass(frozen=True, slots=True)
class Kill(_AtPoint):
    """The broker's process ends on the spot, as by SIGKILL; only for a broker that has a process of its own."""

    kind: ClassVar[str] = "kill"


@dataclass(frozen=True, slots=True)
class Jump(_AtPoint):
    """The broker's clock jumps ahead by `seconds`: whatever runs out by then runs out at once.

    With less than 0 it goes back: new records get older times, yet every timeout ends within its length from then on.
    """

    kind: ClassVar[str] = "jump"
    seconds: float


Rule: TypeAlias = (
    Delay | Drop | Lose | Repeat | Fail | Refuse | Restart | PowerCut | DiskError | WrongBytes | Kill | Jump
)

KINDS: dict[str, type[Rule]] = {
    rule.kind: rule
    for rule in (Delay, Drop, Lose, Repeat, Fail, Refuse, Restart, PowerCut, DiskError, WrongBytes, Kill, Jump)
}
"""Every kind of rule by the name that files and tests use."""
