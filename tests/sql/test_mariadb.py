"""What MariaDB alone has."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from eosfw.errors import ConfigError, DamagedDataError
from maven import jars

from .mariadb import PACKAGE
from .reading import reading

pytestmark = pytest.mark.ci


@pytest.fixture
def properties(mariadb):
    return {
        "connection.url": mariadb.url,
        "mode": "incrementing",
        "table.whitelist": "orders",
        "timestamp.column.name": "changed",
    }


def test_types_of_mariadb_have_schemas_and_values(mariadb, properties):
    """SQL-09: as Connect has them; integers without sign need a wider one."""
    mariadb.execute(
        "CREATE TABLE orders (id bigint unsigned PRIMARY KEY, tiny tinyint, small smallint unsigned, medium mediumint, "
        "price decimal(9, 2), ratio float, yes tinyint(1), day date, at time, changed timestamp(6) NOT NULL, raw blob, "
        "doc json, name varchar(5), kind enum('a', 'b'), kinds set('a', 'b'), y year, bits bit(3))",
        "INSERT INTO orders VALUES (18446744073709551615, -1, 65535, 3, 3.50, 0.5, 1, '2020-01-02', '03:04:05', "
        """'2020-01-01 00:00:00.5', x'00ff', '{"a": 1}', 'x', 'b', 'a,b', 2020, b'101')""",
    )
    with reading(properties) as task:
        batch = task.task.poll()
    (row,) = batch.values
    assert row == {
        "id": Decimal(18446744073709551615), "tiny": -1, "small": 65535, "medium": 3, "price": Decimal("3.50"),
        "ratio": 0.5, "yes": 1, "day": date(2020, 1, 2), "at": time(3, 4, 5),
        "changed": datetime(2020, 1, 1, 0, 0, 0, 500_000, UTC), "raw": b"\x00\xff", "doc": '{"a": 1}', "name": "x",
        "kind": "b", "kinds": "a,b", "y": 2020, "bits": 5,
    }  # fmt: skip
    kinds = {name: batch.value_schema.field(name).type.name for name in ("tiny", "small", "medium", "y")}
    assert kinds == {"tiny": "INT8", "small": "INT32", "medium": "INT32", "y": "INT16"}


def test_a_float_has_as_many_digits_as_tell_it_from_others(mariadb, properties):
    """SQL-09: the server shows six of them, so that 16777216 was 16777200."""
    mariadb.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, plain float, placed float(10, 3))",
        "INSERT INTO orders VALUES (1, 16777216, 1234567.125), (2, 0.1, 0.1), (3, -3.402823e38, NULL), (4, NULL, 0)",
    )
    query = {"query": "SELECT * FROM orders", "incrementing.column.name": "id"}
    for source in (properties, {name: properties[name] for name in ("connection.url", "mode")} | query):
        with reading(source) as task:
            found = [(row["plain"], row["placed"]) for row in task.rest()]
        assert found == [(16777216.0, 1234567.125), (0.1, 0.1), (-3.402823e38, None), (None, 0.0)]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_rows_of_the_hour_that_comes_twice_are_read(mariadb, properties, mode, zone):
    """SQL-04: TIMESTAMP is a moment, whatever the time zones of server and `db.timezone` are."""
    mariadb.execute("CREATE TABLE orders (id int PRIMARY KEY, changed timestamp NOT NULL)")
    moments = [datetime(2024, 10, 27, hour, minute, tzinfo=UTC) for hour in (0, 1) for minute in (10, 50)]
    with reading(properties | {"mode": mode, "db.timezone": zone}) as task:
        for number, moment in enumerate(moments):
            mariadb.execute(f"INSERT INTO orders VALUES ({number}, '{moment:%Y-%m-%d %H:%M:%S}')")
            assert task.rest() == [{"id": number, "changed": moment}]
            assert task.rest() == []


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_an_offset_without_a_time_zone_is_taken_for_one_of_db_timezone(mariadb, properties, zone):
    """SQL-02: those of TIMESTAMP had none before."""
    mariadb.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, changed timestamp NOT NULL)",
        "INSERT INTO orders VALUES (1, '2024-01-01 10:30'), (2, '2024-01-01 11:30')",
    )
    hour = 11 if zone == "UTC" else 12
    offsets = {"orders": {"timestamp": f"2024-01-01T{hour}:00:00", "incrementing": 7}}
    with reading(properties | {"mode": "timestamp+incrementing", "db.timezone": zone}, offsets) as task:
        assert [row["id"] for row in task.rest()] == [2]


def test_timestamps_with_and_without_a_time_zone_are_not_mixed(mariadb, properties):
    """SQL-07: the later of two rows could be the one that seems to be earlier."""
    mariadb.execute("CREATE TABLE orders (id int PRIMARY KEY, changed datetime, made timestamp NOT NULL)")
    properties |= {"mode": "timestamp", "timestamp.column.name": "changed,made"}
    with reading(properties) as task:
        assert task.rest() == []
    with reading(properties | {"db.timezone": "Europe/Berlin"}) as task, pytest.raises(ConfigError, match="one type"):
        task.poll()


def test_databases_of_mariadb_are_catalogs(mariadb, properties):
    """SQL-13: so `catalog.pattern` selects among them, as JDBC does."""
    mariadb.execute("CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    del properties["table.whitelist"]
    with reading(properties | {"catalog.pattern": "sh_p"}) as task:
        assert task.rest() == [{"id": 1}]
        assert list(task.offsets) == ["shop.orders"]


def test_a_table_that_is_gone_is_named(mariadb, properties):
    """SQL-14: in the words of the server."""
    mariadb.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    with reading(properties) as task:
        assert task.rest() == []
        mariadb.execute("DROP TABLE orders")
        with pytest.raises(ConfigError, match="doesn't exist; name what exists"):
            task.rest()


@pytest.mark.parametrize("kind", ["enum", "set"])
def test_texts_that_the_server_sorts_by_number_are_no_place_in_a_round(mariadb, properties, kind):
    """SQL-05: it compares them as texts, so that rows behind such a key were left out."""
    mariadb.execute(
        f"CREATE TABLE orders (kind {kind}('z', 'm', 'a'), id int, PRIMARY KEY (kind, id))",
        "INSERT INTO orders VALUES ('z', 1), ('z', 2), ('m', 1), ('m', 2), ('a', 1), ('a', 2)",
    )
    found, offsets = [], {}
    for _ in range(3):
        with reading(properties | {"mode": "bulk", "batch.max.rows": 2}, offsets) as task:
            found += [tuple(row.values()) for row in task.poll()]
    assert found == [(one, number) for one in "zma" for number in (1, 2)]


def test_the_members_of_a_set_have_one_order_in_every_process():
    """SQL-03: SQLAlchemy makes sets of them, which Python orders by hashes that differ from process to process."""
    code = "from eosfw_sql.modes.positions import digest_of; print(digest_of([set('abcdefgh')]).hex())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True
        ).stdout
        for seed in "123"
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [("date", "0000-00-00"), ("datetime", "0000-00-00 00:00:00"), ("time", "-01:00:00"), ("time", "25:00:00")],
)
def test_values_that_python_does_not_have_are_refused(mariadb, properties, column, value):
    """SQL-07: a time of day that is none was another one."""
    mariadb.execute(
        "SET GLOBAL sql_mode = ''",
        f"CREATE TABLE orders (id int PRIMARY KEY, odd {column})",
        f"INSERT INTO orders VALUES (1, '{value}')",
        "SET GLOBAL sql_mode = DEFAULT",
    )
    with (
        reading(properties) as task,
        pytest.raises(DamagedDataError, match="column odd of table orders has a value that is none of its type") as no,
    ):
        task.poll()
    assert value not in str(no.value)


def test_the_package_of_the_server_stays_when_another_process_of_tests_asks_for_it():
    """That one may be about to open it."""
    (package,) = jars(PACKAGE)
    changed = package.parent.stat().st_mtime_ns
    assert jars(PACKAGE) == [package]
    assert package.parent.stat().st_mtime_ns == changed
