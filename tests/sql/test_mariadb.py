"""What MariaDB alone has."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from eosfw.errors import ConfigError

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
