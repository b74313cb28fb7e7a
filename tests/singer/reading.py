"""Drive a task of the connector the way the framework does, without one."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path

from eosfw.errors import RetriableError
from eosfw.ids import ConnectorTaskId
from eosfw_singer.connector import SingerSourceConnector
from eosfw_singer.task import SingerSourceTask

TAP = Path(__file__).with_name("tiny_tap.py")
COMMAND = f"{sys.executable} -I -S {TAP}"


def properties(config, **more):
    """Properties that run the tiny tap; `poll_interval_ms=1` stands for `poll.interval.ms`."""
    dotted = {name.replace("_", "."): str(value) for name, value in more.items()}
    return {"tap.command": COMMAND, "tap.config": json.dumps(config), "topic.prefix": "t-", **dotted}


def rows_file(path, rows):
    """Write rows, as (stream, id, at), where the tiny tap reads them."""
    lines = [json.dumps({"stream": stream, "record": {"id": number, "at": at}}) for stream, number, at in rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def contract_properties(folder, state_every):
    """Properties that read twenty rows, some of which share a replication key."""
    rows = [("orders", number, f"2024-01-0{number // 8 + 1}") for number in range(20)]
    config = {"rows": rows_file(folder / "rows", rows), "state_every": state_every}
    return properties(config, batch_max_rows=5) | {"key.converter": "json", "value.converter": "json"}


class Transaction:
    """The ends that a task asks for."""

    asked = None

    def commit(self):
        self.asked = "commit"

    def abort(self):
        self.asked = "abort"


class Context:
    """A task context that keeps the only offset."""

    task_id = ConnectorTaskId("singer", 0)
    metrics = None

    def __init__(self, offset, *, boundary, record_offsets):
        self.stored, self.record_offsets = offset, record_offsets
        self.transaction = Transaction() if boundary == "connector" else None
        self.notices = []

    def offset(self, partition):
        return self.stored

    def notice(self, kind, text, count=1):
        self.notices.append((kind, text, count))


class Reading:
    """A started task; `committed` is what a consumer would see, `offset` what was committed with it."""

    def __init__(self, task, context):
        self.task, self.context = task, context
        self.offset, self.committed, self.open, self.errors = context.stored, [], [], []
        self.transactions = []
        self.now = 0.0

    def poll(self):
        """Poll once, and do what the task asks for."""
        try:
            batches = self.task.poll() or []
        except RetriableError as error:
            self.errors.append(error)
            return
        self.open += batches
        how = "commit" if self.context.transaction is None else self.context.transaction.asked
        if self.context.transaction is not None:
            self.context.transaction.asked = None
        if how == "abort":
            self.offset, self.open = batches[-1].source_offset, []
        elif how == "commit" and self.open:
            rows = [(batch.topic, row) for batch in self.open for row in batch.values]
            self.committed += rows
            self.transactions.append(rows)
            self.offset, self.open = self.open[-1].source_offset, []

    def run(self):
        """One whole run of the tap, however often it fails; the rows that were committed in it."""
        before = len(self.committed)
        self.now += 3600
        while True:
            self.poll()
            if self.task.at_end():
                return self.committed[before:]

    @property
    def ids(self):
        """The ids of all rows that were committed."""
        return [row["id"] for _, row in self.committed]


@contextmanager
def reading(given, offset=None, *, boundary="poll", record_offsets=False):
    """The only task of these properties, started at this offset."""
    connector = SingerSourceConnector()
    (share,) = connector.task_configs(connector.config.parse(given), 1)
    task = SingerSourceTask()
    read = Reading(task, Context(offset, boundary=boundary, record_offsets=record_offsets))
    task.start(SingerSourceTask.config.parse(share), read.context)
    try:
        yield read
    finally:
        task.stop()
