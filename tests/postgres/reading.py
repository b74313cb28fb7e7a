"""A task of the connector, driven by hand: what it returns, and when it hears that it was committed."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

from eosfw.ids import ConnectorTaskId
from eosfw.observe import unread_metrics
from eosfw_postgres.connector import PostgresConnector
from eosfw_postgres.properties import CONNECTOR, TASK, task_properties
from eosfw_postgres.startup import log_end


class Reading:
    """A started task with the records that its polls returned."""

    def __init__(self, properties, offset=None, transaction=None, connector="pg", metrics=None, *, overlap=False):
        config = CONNECTOR.parse({name: str(value) for name, value in properties.items()})
        values = dict(config) | {"transaction.commit.overlap": overlap}
        self.offset = offset
        self.notices = []
        self.task = PostgresConnector.task()
        self.task.start(
            TASK.parse(task_properties(values)),
            SimpleNamespace(
                task_id=ConnectorTaskId(connector, 0),
                transaction=transaction,
                record_offsets=True,
                metrics=unread_metrics() if metrics is None else metrics,
                offset=lambda _: self.offset,
                notice=lambda *said: self.notices.append(said),
            ),
        )
        self.records = []

    def poll(self):
        """The batches of one poll."""
        batches = self.task.poll() or []
        for batch in batches:
            keys = batch.keys or [None] * len(batch)
            self.records += [(batch.topic, *one) for one in zip(keys, batch.values, strict=True)]
            self.offset = batch.source_offset
        return batches

    def until(self, count):
        """Poll until so many records are there."""
        while len(self.records) < count:
            self.poll()
        return self.records

    def until_drained(self):
        """Poll until everything is there that was committed before, and the task says that there is no more."""
        with self.task._database.session() as session:
            end = log_end(session)
        self.poll()
        while not (self.task.at_end() and self._was_sent(end)):
            self.poll()
        return self.records

    def _was_sent(self, lsn):
        """Whether the log before an LSN was: a task takes it for the end, too, if a busy server sends nothing for a
        while. Without a stream there is none.
        """
        opened = self.task._open
        return opened is None or opened.stream.log_end >= lsn


@contextmanager
def reading(properties, offset=None, **more):
    """A task that is stopped at the end of the block."""
    one = Reading(properties, offset, **more)
    try:
        yield one
    finally:
        one.task.stop()


def changed(records):
    """Of each record its operation and the row behind it, or what is left of the row before."""
    return [None if value is None else (value["op"], value["after"] or value["before"]) for _, _, value in records]
