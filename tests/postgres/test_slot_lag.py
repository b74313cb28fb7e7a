"""The log that the server keeps is measured, and said before the disk is full."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import pytest

from eosfw.errors import ConfigError, RetriableError
from eosfw_postgres.replication.slot_lag import SlotState, warnings_of

from .reading import reading
from .server import lose_slot, write_log

SEGMENT = 16 * 2**20
"""Bytes of a file of the server's log."""


class Values(dict):
    """The metrics of a task, by their names."""

    def gauge(self, name, doc):
        return SimpleNamespace(set=lambda value: self.__setitem__(name, value))


@pytest.fixture
def properties(postgres_server, session):
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    return postgres_server.properties | {"snapshot.mode": "no_data", "poll.interval.ms": 20, "slot.lag.interval.ms": 1}


def poll_for_ever(task):
    """Until an error that is not retried."""
    while True:
        with suppress(RetriableError):
            task.poll()


@pytest.mark.parametrize(
    ("slot", "said"),
    [
        (SlotState("own", True, "reserved", 9, 10), None),
        (SlotState("own", True, "extended", 9, 11), "slot own lags"),
        (SlotState("own", True, "unreserved", 9, 10), "slot own unreserved"),
        (SlotState("other", False, "reserved", 9, 11), "slot other unread"),
        (SlotState("other", True, "reserved", 9, 11), None),
        (SlotState("other", False, "reserved", 9, 10), None),
    ],
)
def test_what_fills_the_disk_is_said(slot, said):
    """PGC-40: the slot itself, and others that nobody reads."""
    assert [kind for kind, _ in warnings_of([slot], "own", 10)] == ([said] if said else [])
    assert [kind for kind, _ in warnings_of([slot], "own", 0)] == ([said] if said == "slot own unreserved" else [])


def test_the_lag_of_the_slot_is_measured_and_said(properties, session):
    """PGC-40: while nothing is confirmed it grows; a slot without a reader is named with what to do."""
    session.execute("SELECT pg_create_logical_replication_slot('forgotten', 'pgoutput')")
    values = Values()
    with reading(properties | {"slot.retained.warn.bytes": SEGMENT}, metrics=values) as task:
        task.until_drained()
        assert task.notices == []
        write_log(session, 2)
        while len(task.notices) < 2:
            task.poll()
        for _ in range(5):
            task.poll()
    assert sorted(kind for kind, _ in task.notices) == ["slot debezium lags", "slot forgotten unread"]
    assert any("SELECT pg_drop_replication_slot('forgotten')" in text for _, text, *_ in task.notices)
    assert SEGMENT < values["slot-lag-bytes"] <= values["slot-retained-bytes"]


def test_an_entry_of_the_include_list_that_selects_no_table_is_said_once(properties, session):
    """Most likely it is misspelt; the other entries are read."""
    with reading(properties | {"table.include.list": "public.orders,public.ordres"}) as task:
        task.until_drained()
        for _ in range(3):
            task.poll()
    ((kind, text),) = [notice[:2] for notice in task.notices]
    assert kind == "table.include.list public.ordres"
    assert "no table is read by public.ordres" in text


def test_a_slot_that_the_server_gives_up_is_refused(properties, session):
    """PGC-41: it is said that changes are missing, whether the connector reads or starts."""
    with reading(properties) as task:
        task.until_drained()
        offset = {"lsn": 1, "n": 0, "part": 0}
        lose_slot(session)
        with pytest.raises(ConfigError, match="is lost: the server has removed log"):
            poll_for_ever(task)
    with reading(properties, offset) as task, pytest.raises(ConfigError, match="drop the slot, reset the connector's"):
        task.poll()


def test_the_slot_is_dropped_at_a_stop_where_that_is_asked_for(properties, session):
    """PGC-42: a later start with the old offset is refused, since changes between are missing."""
    properties |= {"slot.drop.on.stop": "true"}
    with reading(properties) as task:
        task.until_drained()
        session.execute("INSERT INTO orders VALUES (1)")
        task.until(1)
        offset = task.offset
    assert session.execute("SELECT count(*) FROM pg_replication_slots").fetchone() == (0,)
    with reading(properties, offset) as task, pytest.raises(ConfigError, match="is gone, so"):
        task.poll()


@pytest.mark.parametrize("knows", [False, True])
def test_a_task_that_was_shut_out_drops_no_slot(properties, session, knows):
    """PGC-42: its successor reads it, whether it has noticed or not."""
    properties |= {"slot.drop.on.stop": "true"}
    with reading(properties | {"slot.drop.on.stop": "false"}) as new:
        with reading(properties) as old:
            old.until_drained()
            new.until_drained()
            if knows:
                with pytest.raises(RetriableError):
                    old.poll()
        session.execute("INSERT INTO orders VALUES (1)")
        assert new.until(1)
