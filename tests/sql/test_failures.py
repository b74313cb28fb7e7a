"""What keeps a database from being read is one sentence with what to do, and passes where it can."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

import pytest
from sqlalchemy.exc import OperationalError

from eosfw.errors import ConfigError, DamagedDataError, RetriableError
from eosfw_sql.connector import SqlSourceConnector
from eosfw_sql.errors import translated
from eosfw_sql.urls import url_of

from .reading import execute, reading, sqlite_properties

TABLES = ("CREATE TABLE pairs (one INTEGER, other INTEGER, changed TIMESTAMP NOT NULL, PRIMARY KEY (one, other))",)


def config(**properties):
    texts = {name.replace("_", "."): value for name, value in properties.items()}
    return SqlSourceConnector.config.parse({"mode": "bulk", "topic.prefix": "t-"} | texts)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("jdbc:sqlite:/data/shop.db", "sqlite:////data/shop.db"),
        ("jdbc:postgresql://db:5433/shop?user=me&password=p%40", "postgresql+psycopg://me:p%40@db:5433/shop"),
        ("jdbc:mariadb://db/shop", "mariadb+pymysql://db/shop"),
        ("jdbc:mysql://db/shop", "mysql+pymysql://db/shop"),
        ("postgresql+psycopg://db/shop", "postgresql+psycopg://db/shop"),
    ],
)
def test_jdbc_urls_are_translated(text, url):
    """SQL-06: of the databases whose drivers are known."""
    assert url_of(config(connection_url=text)).render_as_string(hide_password=False) == url


@pytest.mark.parametrize("url", ["jdbc:oracle:thin:s3cret@db", "s3cret", "nodb://me:s3cret@host/db", ""])
def test_what_is_no_url_of_a_database_is_refused_without_its_text(url):
    """SQL-06: a URL may have a password."""
    with (
        pytest.raises(ConfigError, match=r"connection\.url") as refused,
        reading({"connection.url": url, "mode": "bulk"}),
    ):
        pass
    assert "s3cret" not in str(refused.value)


def test_a_driver_that_is_missing_is_named(monkeypatch):
    """SQL-06: with the package that brings it."""
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    (problem,) = SqlSourceConnector().problems(config(connection_url="postgresql+psycopg2://host/db"))
    assert str(problem).endswith("the driver 'psycopg2' is not installed. Try: pip install psycopg2-binary")


@pytest.mark.parametrize(
    ("table", "properties", "sentence"),
    [
        ("nothing", {}, "has no table nothing; name one that exists"),
        ("pairs", {}, "table pairs has no key of one column; name a unique column that grows"),
        ("pairs", {"incrementing.column.name": "id"}, "table pairs has no column 'id'; it has: one, other, changed"),
        ("pairs", {"incrementing.column.name": "one"}, "column one of table pairs is not unique, so rows may be lost"),
        ("pairs", {"incrementing.column.name": "changed"}, "column changed of table pairs is TIMESTAMP; name a column"),
        ("texts", {"mode": "timestamp", "timestamp.column.name": "day"}, "column day of table texts is TEXT"),
        (
            "nulls",
            {"mode": "timestamp", "timestamp.column.name": "changed,made"},
            "each of the columns changed, made of t",
        ),
        ("nulls", {"mode": "timestamp", "timestamp.column.name": "changed"}, "may be null, and rows without it are ne"),
    ],
)
def test_a_table_that_does_not_serve_the_mode_is_refused(tmp_path, table, properties, sentence):
    """SQL-07: by the check and by the task, before a row is read."""
    execute(
        tmp_path, *TABLES, "CREATE TABLE texts (day TEXT)", "CREATE TABLE nulls (changed TIMESTAMP, made TIMESTAMP)"
    )
    given = sqlite_properties(tmp_path, "incrementing", table_whitelist=table) | properties
    problems = SqlSourceConnector().check(SqlSourceConnector.config.parse({"topic.prefix": "t-", **given}))
    assert [sentence in str(problem) for problem in problems] == [True]
    with reading(given) as task, pytest.raises(ConfigError) as refused:
        task.poll()
    assert sentence in str(refused.value)


def test_nullable_columns_may_be_allowed(tmp_path):
    """SQL-07: `validate.non.null=false` leaves rows out that have no timestamp."""
    execute(tmp_path, "CREATE TABLE nulls (id INTEGER, changed TIMESTAMP)")
    execute(tmp_path, "INSERT INTO nulls VALUES (1, NULL), (2, '2020-01-01 00:00:00')")
    given = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed", validate_non_null="false")
    with reading(given) as task:
        assert [row["id"] for row in task.rest()] == [2]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("changed TIMESTAMP", "'s3cret'"),
        # Python's driver has the same class of errors for it as for a database that does not answer.
        ("note TEXT", "CAST(x'733363726574e9' AS TEXT)"),
        # SQLite has any value in any column.
        ("note TEXT", "x'733363726574'"),
        ("raw BLOB", "5"),
        ("done BOOLEAN", "'false'"),
    ],
    ids=["no timestamp", "no UTF-8", "no text", "no bytes", "no boolean"],
)
def test_a_value_that_is_none_of_its_type_is_refused_without_the_value(tmp_path, column, value):
    """SQL-07: the value of a record never stands in an error."""
    execute(tmp_path, f"CREATE TABLE orders (id INTEGER PRIMARY KEY, {column})")
    execute(tmp_path, f"INSERT INTO orders VALUES (1, {value})")
    with reading(sqlite_properties(tmp_path, "incrementing")) as task, pytest.raises(DamagedDataError) as refused:
        task.poll()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "mysql+pymysql://127.0.0.1/shop?useSSL=s3cret",
        "jdbc:mariadb://127.0.0.1/shop?serverTimezone=s3cret",
        "sqlite:///{}/db?timeout=s3cret",
        "postgresql+psycopg://127.0.0.1/shop?port=s3cret&host=a",
    ],
)
def test_options_that_a_driver_does_not_take_are_refused_by_their_names(tmp_path, url):
    """SQL-06: those of JDBC's drivers, say; their values may be secret."""
    given = {"connection.url": url.format(tmp_path), "mode": "incrementing", "table.whitelist": "orders"}
    with (
        pytest.raises(ConfigError, match=r"take all of the options .*(useSSL|serverTimezone|timeout|port)") as refused,
        reading(given) as task,
    ):
        task.poll()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Can't connect to MySQL server on 'db' ([Errno 2] No such file or directory)", RetriableError),
        ('connection to server on socket "/run/pg" failed: No such file or directory', RetriableError),
        ("the database system is starting up", RetriableError),
        ("Lost connection to MySQL server during query", RetriableError),
        ("Access denied for user 'me'@'localhost'", ConfigError),
        ("SELECT command denied to user 'me'@'localhost' for table `shop`.`orders`", ConfigError),
        ('FATAL:  password authentication failed for user "me"', ConfigError),
        ('FATAL:  database "shop" does not exist', ConfigError),
        ("no such table: orders", ConfigError),
        ("unable to open database file", ConfigError),
    ],
)
def test_what_passes_by_itself_is_another_error_than_what_does_not(words, kind):
    """SQL-08: drivers have one class of errors for both."""
    with pytest.raises(kind) as raised, translated("shop"):
        raise OperationalError("SELECT 's3cret'", {}, Exception(2003, words))
    assert words in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_database_that_is_locked_is_asked_again(tmp_path):
    """SQL-08: nothing is lost meanwhile."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    given = sqlite_properties(tmp_path, "incrementing", table_whitelist="orders")
    given["connection.url"] += "?timeout=0"
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as writer, reading(given) as task:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RetriableError, match="does not answer: database is locked"):
            task.poll()
        assert not task.task.at_end()
        writer.execute("COMMIT")
        assert task.rest() == [{"id": 1}]


def test_a_server_that_ends_behind_its_answer_fails_no_task(tmp_path):
    """SQL-07: the transaction of a statement is ended on a connection that is gone; SQLAlchemy raises what it meets."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (1)")

    def lost(_: object) -> None:
        raise sqlite3.OperationalError("server closed the connection unexpectedly")

    with reading(sqlite_properties(tmp_path, "incrementing")) as task:
        assert task.poll() == [{"id": 1}]
        execute(tmp_path, "INSERT INTO orders VALUES (2)")
        task.task._database._engine.dialect.do_rollback = lost
        assert task.poll() == [{"id": 2}]
