"""A whole run: what lies in the topics of envelopes and of flat records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eosfw_postgres.connector import PostgresConnector

JSON = {
    f"{one}.{more}": value
    for one in ("key.converter", "value.converter")
    for more, value in [("schemas.enable", "false")]
}
CONVERTERS = {"key.converter": "json", "value.converter": "json", **JSON}
FLAT = {"transforms": "flat", "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState"}


@pytest.fixture
def changed(postgres_server: Any, session: Any) -> dict[str, str]:
    """The properties for a table whose changes are in the log."""
    session.execute("create table orders (id int primary key, price numeric(6,2))")
    properties = {"slot.name": "debezium", "publication.name": "dbz_publication", "snapshot.mode": "no_data"}
    session.execute("create publication dbz_publication for all tables")
    session.execute("select pg_create_logical_replication_slot('debezium', 'pgoutput')")
    session.execute("insert into orders values (1, 2.5)")
    session.execute("update orders set id = 3")
    session.execute("delete from orders")
    return postgres_server.properties | properties | CONVERTERS | {"decimal.handling.mode": "string"}


def of_debezium(headers: Any) -> dict[str, Any]:
    return {name: value for name, value in headers or () if name.startswith("__debezium")}


def entries(eos: Any, properties: dict[str, str]) -> list[tuple[Any, Any, Any]]:
    run = eos.run(PostgresConnector, properties)
    return [(json.loads(one.key), value_of(one.value), of_debezium(one.headers)) for one in run.records()]


def value_of(data: bytes | None) -> Any:
    """None for a tombstone alone: the text `null` deletes nothing."""
    return None if data is None else json.loads(data) or "null"


def test_an_update_of_a_key_is_sent_with_each_others_keys_in_headers(eos: Any, changed: dict[str, str]) -> None:
    """PGC-34: also where no header converter is chosen."""
    sent = entries(eos, changed)

    assert [(key["id"], value and value["op"]) for key, value, _ in sent] == [
        *((1, "c"), (1, "d"), (1, None), (3, "c"), (3, "d"), (3, None))
    ]
    assert [headers for _, _, headers in sent] == [
        *({}, {"__debezium.newkey": b'{"id":3}'}, {"__debezium.newkey": b'{"id":3}'}),
        *({"__debezium.oldkey": b'{"id":1}'}, {}, {}),
    ]


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_a_tombstone_has_no_bytes_whether_values_have_schemas_or_not(
    eos: Any, changed: dict[str, str], enabled: str
) -> None:
    """PGC-60: a text `null`, or a schema with it, would delete nothing in a compacted topic."""
    run = eos.run(PostgresConnector, changed | {"value.converter.schemas.enable": enabled})

    assert [one.value is None for one in run.records()] == [False, False, True, False, False, True]


def test_flat_records_lie_in_the_topics_of_the_tables(eos: Any, changed: dict[str, str]) -> None:
    """PGC-36, PGC-60: by Debezium's name of the transformation; a deleted row leaves a tombstone."""
    sent = entries(eos, changed | FLAT)

    assert [(key["id"], value) for key, value, _ in sent] == [
        *((1, {"id": 1, "price": "2.50"}), (1, None), (3, {"id": 3, "price": "2.50"}), (3, None))
    ]
