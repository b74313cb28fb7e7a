"""Many tables: which are read, by which task, and what becomes of those that come and go."""

from __future__ import annotations

import json
from itertools import count
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.sql.compiler import SQLCompiler

from eosfw.errors import ConfigError, RetriableError
from eosfw_sql.connector import SqlSourceConnector
from eosfw_sql.database import Database
from eosfw_sql.turns import Turns

from .reading import execute, reading, sqlite_properties


def test_tables_are_split_over_tasks_and_selected(tmp_path):
    """SQL-11: each table belongs to one task."""
    execute(tmp_path, *(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)" for name in ("a", "b", "c", "log_1", "log_2")))
    for more, due in (
        ({}, [["a", "c", "log_2"], ["b", "log_1"]]),
        ({"table.include.list": "log_.*,a"}, [["a", "log_2"], ["log_1"]]),
        ({"table.blacklist": "a,log_1"}, [["b", "log_2"], ["c"]]),
        ({"table.whitelist": "c"}, [["c"]]),
        ({"schema.pattern": "ma%", "table.include.list": "main.a"}, [["main.a"]]),
    ):
        given = {"topic.prefix": "t-", **sqlite_properties(tmp_path, "bulk"), **more}
        shares = SqlSourceConnector().task_configs(SqlSourceConnector.config.parse(given), 2)
        assert [json.loads(share["task.tables"]) for share in shares] == due


def test_a_new_table_asks_for_other_tasks(tmp_path):
    """SQL-11: found by looking every `table.poll.interval.ms`."""
    execute(tmp_path, "CREATE TABLE a (id INTEGER PRIMARY KEY)")
    given = {"topic.prefix": "t-", **sqlite_properties(tmp_path, "bulk", table_poll_interval_ms="2000")}
    connector, asked = SqlSourceConnector(), []
    context = SimpleNamespace(request_task_reconfiguration=lambda: asked.append(1))
    connector.start(connector.config.parse(given), context)
    assert [connector.watch(), connector.watch(), len(asked)] == [2.0, 2.0, 0]
    execute(tmp_path, "CREATE TABLE b (id INTEGER PRIMARY KEY)")
    connector.watch()
    connector.stop()
    assert asked == [1]


def test_an_entry_of_the_include_list_that_selects_no_table_is_reported_once(tmp_path, caplog):
    """SQL-11: again when another one does."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    given = sqlite_properties(tmp_path, "bulk", table_include_list="orders,ordres,item_.*")
    connector = SqlSourceConnector()
    connector.start(connector.config.parse({"topic.prefix": "t-", **given}), SimpleNamespace())
    connector.watch()
    connector.watch()
    assert [one.getMessage().partition("; ")[0] for one in caplog.records] == [
        f"table.include.list: no table of database sqlite:///{tmp_path}/db is read by ordres, item_.*"
    ]
    execute(tmp_path, "CREATE TABLE ordres (id INTEGER PRIMARY KEY)")
    connector._context.request_task_reconfiguration = lambda: None
    connector.watch()
    connector.stop()
    assert caplog.records[-1].getMessage().partition("; ")[0].endswith("is read by item_.*")


def test_a_table_that_is_dropped_is_left_out_and_the_others_are_read(tmp_path):
    """SQL-14: if it was found by looking; it is reported, once."""
    execute(tmp_path, *(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)" for name in "abc"))
    with reading(sqlite_properties(tmp_path, "incrementing")) as task:
        assert task.rest() == []
        execute(tmp_path, "DROP TABLE b", "INSERT INTO c VALUES (1)")
        assert task.rest() == [{"id": 1}]
        assert task.task.at_end()
        task.rest()
        (notice,) = task.context.notices
    assert notice == ("tables gone", "table b does not exist any more, and is not read", 1)


def unreachable(*_):
    raise RetriableError("it restarts")


def test_a_table_is_kept_while_the_database_does_not_say_whether_it_is_gone(tmp_path, monkeypatch):
    """SQL-14: it may only be out of reach."""
    execute(tmp_path, "CREATE TABLE a (id INTEGER PRIMARY KEY)", "CREATE TABLE b (id INTEGER PRIMARY KEY)")
    with reading(sqlite_properties(tmp_path, "incrementing")) as task:
        assert task.rest() == []
        execute(tmp_path, "DROP TABLE a")
        with monkeypatch.context() as patch:
            patch.setattr(Database, "has_table", unreachable)
            with pytest.raises(RetriableError):
                task.rest()
        assert task.context.notices == []
        task.rest()
        assert [kind for kind, _, _ in task.context.notices] == ["tables gone"]


def test_a_table_that_was_named_and_is_dropped_fails_the_task(tmp_path):
    """SQL-14: the user waits for its rows."""
    execute(tmp_path, "CREATE TABLE a (id INTEGER PRIMARY KEY)")
    with reading(sqlite_properties(tmp_path, "incrementing", table_whitelist="a")) as task:
        assert task.rest() == []
        execute(tmp_path, "DROP TABLE a")
        with pytest.raises(ConfigError, match="no such table: a; name tables that exist"):
            task.rest()


@pytest.mark.parametrize(
    ("more", "due"),
    [
        ({}, ["a"]),
        ({"table.types": "VIEW"}, ["v"]),
        ({"table.types": "table,view"}, ["a", "v"]),
        ({"catalog.pattern": "%db"}, ["a"]),
        ({"schema.pattern": "ma__"}, ["main.a"]),
    ],
)
def test_types_and_catalogs_select_tables(tmp_path, more, due):
    """SQL-13: `table.types`, `catalog.pattern` and `schema.pattern`."""
    execute(tmp_path, "CREATE TABLE a (id INTEGER PRIMARY KEY)", "CREATE VIEW v AS SELECT id FROM a")
    properties = {"topic.prefix": "t-", **sqlite_properties(tmp_path, "bulk"), **more}
    (share,) = SqlSourceConnector().task_configs(SqlSourceConnector.config.parse(properties), 1)
    assert json.loads(share["task.tables"]) == due


def test_statements_of_many_tables_are_compiled_once(tmp_path, monkeypatch):
    """SQL-18: SQLAlchemy keeps 500 of them, and compiling one takes longer than asking it."""
    monkeypatch.setattr("eosfw_sql.database._CACHED", 2)
    execute(tmp_path, *(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY)" for number in range(9)))
    with reading(sqlite_properties(tmp_path, "incrementing")) as task:
        task.rest()
        monkeypatch.setattr(SQLCompiler, "__init__", None)
        task.rest()
        assert task.task.at_end()


def test_a_poll_of_many_tables_ends_soon(tmp_path):
    """SQL-18: so that the framework can stop the task; the next one goes on."""
    execute(tmp_path, *(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY)" for number in range(5)))
    with reading(sqlite_properties(tmp_path, "incrementing")) as task:
        times = count(0, 0.2)
        task.task._clock = lambda: next(times)
        task.poll()
        assert not task.task.at_end()
        task.poll()
        assert sorted(reader.name for reader in task.task._turns.members) == [f"t{number}" for number in range(5)]


@given(st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 9)), max_size=40))
def test_turns_come_in_order_and_nobody_is_lost(steps):
    """SQL-14: each member that is due has its turn before any has another one."""
    turns = Turns(range(5))
    now = 0
    waiting = dict.fromkeys(range(5), 0)
    for passed, pause in steps:
        now += passed
        member = turns.next(now)
        assert (member is None) == all(until > now for until in waiting.values())
        if member is not None:
            assert waiting[member] <= now
            waiting[member] = now if pause is None else now + pause
            turns.put_back(member, None if pause is None else now + pause)
        assert sorted(turns.members) == list(range(5))
