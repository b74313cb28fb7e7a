"""Histories of a connector that behaves: two generations of tasks, transactions of every outcome, a reader, the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from eosfw.checker import Operation

PARTS = ("t-0", "t-1")
CONNECTOR = "c"
OUTCOMES = (
    ("commit", "ok", True),
    ("commit", "info", True),
    ("commit", "info", False),
    ("commit", "fail", False),
    ("abort", "ok", False),
)
"""What a producer asks for, what it hears, and whether its records are visible."""


def numbered(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with numbers and times by their places."""
    return [replace(operation, i=number, t=number / 10) for number, operation in enumerate(operations)]


@dataclass
class ModelRun:
    """Writes a history down while it happens to a model of a log."""

    random: Random
    operations: list[Operation] = field(default_factory=list)
    log: dict[str, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    sequences: dict[tuple[str, int, int], int] = field(default_factory=lambda: defaultdict(int))
    raised: int = 0
    """What a control record adds to the epoch: 1 where each transaction raises it (KIP-890)."""
    spark_rows: list[dict[str, Any]] = field(default_factory=list)
    states: list[Operation] = field(default_factory=list)
    configs: list[Operation] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: -1))

    def add(self, proc: str, op: str, kind: str = "ok", **facts: Any) -> Operation:
        self.operations.append(Operation(i=0, t=0.0, proc=proc, op=op, type=kind, **facts))
        return self.operations[-1]

    def run(self, generations: int, tasks: int, transactions: int, records: int) -> list[Operation]:
        for generation in range(1, generations + 1):
            self.configure(generation, tasks)
            ids = tuple(f"g-{CONNECTOR}-{task}" for task in range(tasks if generation > 1 else 0))
            if generation > 1:  # the first try times out, and a task fails by it
                self.add("leader", "fence", "invoke", connector=CONNECTOR, gen=generation, ids=ids)
                self.add("leader", "fence", "info", connector=CONNECTOR, gen=generation)
                self.add(f"task-0/{generation}", "failed", connector=CONNECTOR, gen=generation)
            self.add("leader", "fence", "invoke", connector=CONNECTOR, gen=generation, ids=ids)
            self.add("leader", "fence", connector=CONNECTOR, gen=generation)
            self.add("leader", "task-count", connector=CONNECTOR, gen=generation)
            self.config("task-count", generation, count=tasks)
            for task in range(tasks):
                self.task(generation, task, transactions, records)
        self.add("network", "healed")
        self.read()
        self.group_offsets()
        self.restarted()
        self.batches()
        self.replay_and_dump()
        return numbered(self.operations)

    def configure(self, generation: int, tasks: int) -> None:
        """The leader's transaction of task configurations."""
        for task in range(tasks):
            self.config(f"task-{task}", generation)
        self.config("commit", generation, count=tasks, gen=generation)

    def config(self, what: str, generation: int, **facts: Any) -> None:
        at = len(self.configs)
        place = {"part": "configs-0", "off": at, "pid": 50, "epoch": generation, "visible": True}
        facts = {"connector": CONNECTOR, "val": what, **place, **facts}
        self.configs.append(Operation(i=0, t=0.0, proc="oracle", op="config", type="ok", **facts))

    def task(self, generation: int, task: int, transactions: int, records: int) -> None:
        proc, source = f"task-{task}/{generation}", f"s{task}"
        ids = {"tid": f"g-c-{task}", "connector": CONNECTOR, "gen": generation}
        self.add(proc, "init", "invoke", **ids)
        init = self.add(proc, "init", pid=task, epoch=generation * 100, **ids)
        self.state(init, 0, "Empty")
        begin = {"part": "offsets", "src_part": source, "src_off": self.done[source]}
        self.add(proc, "read-offsets", connector=CONNECTOR, gen=generation, **begin)
        self.add(proc, "start", connector=CONNECTOR, gen=generation, val="poll")
        for number in range(1, transactions + 1):
            self.transaction(proc, source, {**ids, "txn": number}, init, records)

    def transaction(self, proc: str, source: str, ids: dict[str, Any], init: Operation, records: int) -> None:
        first = self.done[source] + 1
        entries = []
        self.add(proc, "source-poll", connector=CONNECTOR, gen=ids["gen"])
        self.add(proc, "begin", **ids)
        for at in range(records):
            part, position = PARTS[at % len(PARTS)], first + at
            value = f"{source}:{position}:{proc}#{ids['txn']}"
            record = {"val": value, "src_part": source, "src_off": position}
            sent = {"part": part, **record}
            self.add(proc, "send", "invoke", **ids, **sent)
            entry = self.append(
                "log", part, init.pid, init.epoch + ids["txn"], val=value, src_part=source, src_off=position
            )
            entries.append(entry)
            self.add(proc, "send", **ids, **sent, off=entry.off)
        last = first + records - 1
        self.add(proc, "offset", **ids, part="offsets-0", src_part=source, src_off=last)
        asked, heard, decided = OUTCOMES[0] if ids["txn"] <= 2 else self.random.choice(OUTCOMES)
        self.add(proc, asked, "invoke", **ids)
        self.add(proc, asked, heard, **ids)
        for part in {entry.part: None for entry in entries}:
            log = self.log[part]
            log[:] = [replace(entry, visible=decided) if entry in entries else entry for entry in log]
            self.append(
                "marker",
                part,
                init.pid,
                init.epoch + ids["txn"] + self.raised,
                control="commit" if decided else "abort",
            )
        outcome = "Commit" if decided else "Abort"
        for state in ("Ongoing", "Ongoing", f"Prepare{outcome}", f"Complete{outcome}"):
            self.state(init, ids["txn"], state)
        if decided:
            self.done[source] = last

    def state(self, init: Operation, number: int, state: str) -> None:
        """The coordinator logs a state of a transaction with all its partitions."""
        facts = {"tid": init.tid, "pid": init.pid, "epoch": init.epoch + number, "ids": PARTS if number else ()}
        self.states.append(Operation(i=0, t=0.0, proc="oracle", op="txn-state", type="ok", val=state, **facts))

    def group_offsets(self) -> None:
        """A group that processes in transactions: two commits and an abort, each asked for afterwards."""
        place = {"part": "in-0", "val": "group"}
        for number, (off, end, read) in enumerate(((5, "commit", 5), (9, "abort", 5), (12, "commit", 12))):
            ids = {"tid": "p", "txn": number}
            self.add("processor", "group-offset", **ids, **place, off=off)
            self.add("processor", end, "invoke", **ids)
            self.add("processor", end, **ids)
            self.add("processor", "fetch-offset", "invoke", **place)
            self.add("processor", "fetch-offset", **place, off=read)

    def restarted(self) -> None:
        """A coordinator that still holds what it has answered before its broker's restart."""
        producer = {"tid": "p", "pid": 60}
        self.add("coordinator", "answered", val="commit", epoch=3, **producer)
        self.add("coordinator", "held", val="CompleteCommit", epoch=3, **producer)

    def batches(self) -> None:
        """Two batches of a Spark query."""
        for batch in range(2):
            for at in range(4):
                place = {"src_part": f"q/{batch}/{at // 2}", "src_off": at % 2}
                row = {"connector": "q", "txn": batch, "gen": 0, "visible": True, **place}
                self.append("log", "rows-0", 70, batch, val=f"q/{batch}/{at}", **row)
                self.spark_rows.append(place)
            self.append("marker", "rows-0", 70, batch + self.raised, control="commit")
            self.add("driver", "token", connector="q", txn=batch, count=4, visible=True)
            self.add("driver", "checkpoint", connector="q", txn=batch)

    def append(self, op: str, part: str, pid: int, epoch: int, **facts: Any) -> Operation:
        key = part, pid, epoch
        seq = self.sequences[key] if op == "log" else -1
        self.sequences[key] += op == "log"
        place = {"part": part, "off": len(self.log[part]), "pid": pid, "epoch": epoch, "seq": seq}
        entry = Operation(i=0, t=0.0, proc="oracle", op=op, type="ok", **place, **facts)
        self.log[part].append(entry)
        return entry

    def read(self) -> None:
        for part in PARTS:
            shown = [(part, entry.off, entry.val) for entry in self.log[part] if entry.visible]
            for at in range(0, len(shown), 3):
                self.add("reader", "poll", reads=tuple(shown[at : at + 3]))

    def replay_and_dump(self) -> None:
        for source, done in self.done.items():
            for position in range(done + 1):
                self.add("source", "source", src_part=source, src_off=position)
        for row in self.spark_rows:
            self.add("source", "source", **row)
        for part in (*PARTS, "rows-0"):
            self.operations += self.log[part]
            end = len(self.log[part])
            self.add("oracle", "partition", part=part, off=end, seq=end)
        self.operations += self.configs
        self.operations += self.states
        self.add("oracle", "end")


def model_history(seed: int, transactions: int = 4) -> list[Operation]:
    """A history without an anomaly; each seed has its own outcomes from the third transaction of each task on."""
    return ModelRun(Random(seed), raised=seed % 2).run(generations=2, tasks=2, transactions=transactions, records=4)


def committed_transactions(history: Sequence[Operation]) -> Iterator[tuple[str, str, int]]:
    """The transactions whose commit was acknowledged, in the order of the acknowledgements."""
    return (each.writer for each in history if (each.op, each.type) == ("commit", "ok"))
