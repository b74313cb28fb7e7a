"""One line of a history: what one process began, or what came of it (the operations of Jepsen's histories)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, get_type_hints

from eosfw.errors import DamagedDataError

INVOKE, OK, FAIL, INFO = "invoke", "ok", "fail", "info"
TYPES: Final = (INVOKE, OK, FAIL, INFO)
NONE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An event of a history. Numbers that say nothing about the event are -1, as in Kafka's protocol; texts are empty.

    A call has two lines: `invoke`, then `ok`, `fail` (it did not happen, for certain) or `info` (nobody knows). What is
    seen and not called, such as a record that the log holds at the end, has `ok` alone.
    """

    i: int
    """The number of the event: 0, 1, 2 and so on, in the order in which the events were written down."""
    t: float
    """Seconds since the history began; never less than in the line before."""
    proc: str
    """The process, task, reader or broker that acted; one life of it."""
    op: str
    """What was done: a word of `OPERATIONS`."""
    type: str
    """`invoke`, `ok`, `fail` or `info`."""
    connector: str = ""
    gen: int = NONE
    """The generation of the connector's tasks."""
    tid: str = ""
    """The transactional id."""
    pid: int = NONE
    epoch: int = NONE
    txn: int = NONE
    """The number of the transaction among those of this process and transactional id."""
    part: str = ""
    """A topic partition, `TOPIC-NUMBER`."""
    off: int = NONE
    val: str = ""
    """The value of a record, never empty; values of a history differ from each other."""
    seq: int = NONE
    """The sequence number of a record in the log."""
    control: str = ""
    """For a control record in the log: `commit` or `abort`."""
    visible: bool = False
    """Whether a `read_committed` reader was given this record of the log."""
    reads: tuple[tuple[str, int, str], ...] = ()
    """What a reader was given, in this order: partition, offset, value."""
    src_part: str = ""
    """A source partition, as one text."""
    src_off: int = NONE
    """The position in the source partition: 0 for the first record that a replay of the source gives, and so on."""
    count: int = NONE
    """How many tasks a record of the leader speaks of, or rows a token; milliseconds of an interval."""
    ids: tuple[str, ...] = ()
    """The transactional ids that are fenced, or the partitions of a transaction."""
    err: str = ""

    @property
    def writer(self) -> tuple[str, str, int]:
        """What tells one transaction from all others."""
        return self.tid, self.proc, self.txn


OPERATIONS: Final[Mapping[str, str]] = {
    "init": "a producer is given its producer id and epoch (InitProducerId)",
    "send": "a record is sent in a transaction; `ok` has its offset, where the client was told",
    "commit": "a transaction is committed",
    "abort": "a transaction is aborted",
    "offset": "a source offset is sent in a transaction, to `part`: all up to `src_off` is done",
    "poll": "a `read_committed` reader is given records",
    "fence": "the leader fences the producers of all generations before `gen`; `invoke` has their `ids`",
    "task-count": "the leader has written the number of tasks of generation `gen`",
    "read-offsets": "a task reads where to go on: `src_off`, or none; `part` is the offsets topic that goes first",
    "start": "a task of generation `gen` begins to poll its source; `val` is its `transaction.boundary`, `count` its "
    "interval in ms",
    "request": "a connector asks to end its transaction, by `val` `commit` or `abort`: behind the record at `src_off`, "
    "or behind what the poll before returns",
    "source-poll": "a task asks its source for records",
    "begin": "a transaction begins: its first record is about to be sent",
    "failed": "a task has failed, and does nothing until it is started again",
    "config": "the config topic has a record of the leader: `val` is `task-NUMBER`, `commit` or `task-count`, `count` "
    "its number of tasks",
    "source": "the replay of a source, up to the committed source offsets, gives a record",
    "filtered": "a record of the source is left out on purpose",
    "txn-state": "the log of transactions has a state of `tid`: `val` is its name, `ids` are its partitions",
    "group-offset": "the offset of the consumer group `val` for a partition is sent in transaction `txn`, or without "
    "one, where it counts at once; `off` is left out where it is forgotten",
    "fetch-offset": "the consumer group `val` is given its stable offset for a partition, if it has one",
    "fetch-any-offset": "the same without asking for a stable offset",
    "token": "batch `txn` of the query `connector` was published by Spark's sink, with `count` rows",
    "checkpoint": "Spark has finished batch `txn` of the query `connector`: `commits/N` exists",
    "answered": "a coordinator has answered a producer: `val` is `init`, `commit` or `abort`, or `end` where the epoch "
    "stays; `pid` and `epoch` are those with which it goes on",
    "held": "what a coordinator still holds after a restart: the state `val` of `tid`, with `pid` and `epoch`, or the "
    "stable offset of the consumer group `val` for a partition; neither where nothing is left",
    "durability": "what the broker acknowledges outlives its process (`val` `process`), or also a power cut (`power`)",
    "crash": "a process is gone; of a broker `val` is `process`, or `power` where the power was cut",
    "state": "`val` is what a broker knows of a partition's producers and ends: `invoke` as appends had made it before "
    "a restart, `ok` as rebuilt from the log",
    "signed": "a worker signs a request to another one: `val` is the signature, `ids` are receiver, method, path and a "
    "digest of the body, `count` is for how many ms it may be accepted",
    "accepted": "a worker accepts a signed request with this `val` and these `ids`; `count` is how many ms before or "
    "after its own time it was signed, by the clock of the signer",
    "healed": "all faults are over, and from here on readers have time to catch up",
    "fault": "a fault happened; `val` names it",
    "log": "a record is in the log at the end, aborted or not; of Spark's rows `connector` is the query, `txn` "
    "the batch, `gen` the attempt of the task",
    "marker": "a control record is in the log at the end",
    "partition": "a partition was read to its end; `off` is its last stable offset, `seq` its high watermark",
    "end": "the history is whole",
}
"""What may stand in `op`, and what it says."""
_FIELDS: Final = {field.name: field for field in fields(Operation)}
_KINDS: Final = get_type_hints(Operation) | {"reads": tuple, "ids": tuple}
_REQUIRED: Final = frozenset(name for name, field in _FIELDS.items() if field.default is MISSING)


def operation_to_json(operation: Operation) -> str:
    """An operation as one line without a newline; fields that say nothing are left out."""
    facts = {name: getattr(operation, name) for name in _FIELDS}
    given = {name: fact for name, fact in facts.items() if fact != _FIELDS[name].default}
    return json.dumps(given, separators=(",", ":"), ensure_ascii=False)


def operation_from_json(line: str) -> Operation:
    """The operation of a line; DamagedDataError with the reason if the line is none."""
    try:
        facts = json.loads(line)
    except (ValueError, RecursionError) as why:
        raise DamagedDataError(f"not JSON ({why})") from None
    if not isinstance(facts, dict) or (missing := _REQUIRED - facts.keys()):
        raise DamagedDataError(
            f"lacks {', '.join(sorted(missing))}" if isinstance(facts, dict) else "not a JSON object"
        )
    if "reads" in facts:
        facts["reads"] = _reads(facts["reads"])
    if "ids" in facts:
        facts["ids"] = _ids(facts["ids"])
    for name, fact in facts.items():
        if type(fact) is not _KINDS.get(name) and (name, type(fact)) != ("t", int):
            raise DamagedDataError(_misfit(name, fact))
    operation = Operation(**facts)
    if operation.op not in OPERATIONS:
        raise DamagedDataError(f"unknown operation {operation.op!r}")
    if operation.type not in TYPES:
        raise DamagedDataError(f"unknown type {operation.type!r}")
    return operation


def _reads(given: Any) -> tuple[tuple[str, int, str], ...]:
    try:
        return tuple((str(part), int(off), str(value)) for part, off, value in given)
    except (TypeError, ValueError):
        raise DamagedDataError("reads is not a list of [partition, offset, value]") from None


def _ids(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise DamagedDataError("ids is not a list of texts")
    return tuple(given)


def _misfit(name: str, fact: Any) -> str:
    kind = _KINDS.get(name)
    return f"unknown field {name!r}" if kind is None else f"{name} is {type(fact).__name__}, not {kind.__name__}"
