"""What the connector polls of `debezium_cases.py`, snapshot and stream, beside what Debezium's has written of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eosfw_postgres import copy_text
from eosfw_postgres.replication import changes
from postgres.golden.answers import as_json, recorded
from postgres.golden.debezium_cases import BEFORE_SNAPSHOT, CHANGES, MODES, SETUP

from .reading import reading


@pytest.fixture
def properties(postgres_server: Any) -> dict[str, str]:
    return postgres_server.properties | {"snapshot.mode": "initial", "poll.interval.ms": "50"}


def polled(properties: dict[str, str], session: Any, mode: str) -> dict[str, list[Any]]:
    """By topic, what is polled before and after the changes are made."""
    for one in (*SETUP, *BEFORE_SNAPSHOT):
        session.execute(one)
    tables, more = MODES[mode]
    included = {"topic.prefix": mode, "table.include.list": ",".join(f"public[.]{one}" for one in tables)}
    found: dict[str, list[Any]] = {}
    with reading(properties | more | included) as task:
        while not task.task.at_end():
            poll(task, found)
        for one in CHANGES:
            with session.transaction():
                for statement in one.split(";"):
                    session.execute(statement)
        wanted = sum(len(debezium(mode, table)) for table in tables)
        while sum(map(len, found.values())) < wanted:
            poll(task, found)
    return found


def poll(task: Any, found: dict[str, list[Any]]) -> None:
    for batch in task.poll():
        keys = batch.keys or [None] * len(batch)
        for key, value in zip(keys, batch.values, strict=True):
            made = (
                None if key is None else shown(as_json(batch.key_schema, key)),
                None if value is None else shown(as_json(batch.value_schema, value)),
            )
            found.setdefault(batch.topic, []).append(made)


def shown(whole: dict[str, Any]) -> tuple[Any, Any]:
    """Without what differs from run to run."""
    payload = dict(whole["payload"])
    if "source" in payload:
        source = payload["source"]
        payload = {name: payload[name] for name in ("before", "after", "op")} | {
            "source": [source[name] for name in ("connector", "name", "db", "schema", "table")],
            "snapshot": source["snapshot"] != "false",
            "order": [(payload["transaction"] or {}).get(name) for name in ("total_order", "data_collection_order")],
        }
    return whole["schema"], payload


def debezium(mode: str, table: str) -> list[Any]:
    schemas, records = recorded(mode, table)

    def whole(part: Any) -> Any:
        return None if part is None else shown({"schema": schemas[part[0]], "payload": part[1]})

    # A tombstone without a key, which Debezium writes, too, deletes nothing.
    return [(whole(key), whole(value)) for key, value, _ in records if key is not None or value is not None]


@pytest.mark.parametrize("in_arrays", [False, True])
@pytest.mark.parametrize("mode", ["changes", "transactions", "names"])
def test_the_connector_polls_what_debezium_writes(
    monkeypatch: pytest.MonkeyPatch, properties: Any, session: Any, mode: str, *, in_arrays: bool
) -> None:
    """PGC-38, PGC-70: keys, values, schemas, orders in transactions, of rows that a snapshot finds and of changes then;
    in arrays as one by one.
    """
    for module in (copy_text, changes):
        monkeypatch.setattr(module, "are_enough_for_arrays", lambda _: in_arrays)
    ours = polled(properties, session, mode)

    for table in MODES[mode][0]:
        if table not in ("by_index", "defaults"):  # each has a difference that other tests show
            assert ours[f"{mode}.public.{table}"] == debezium(mode, table)


def test_the_order_in_a_transaction_is_the_same_behind_a_restart(properties: Any, session: Any) -> None:
    """PGC-38: an update of a key takes two places, whatever part of the transaction is read again."""
    session.execute("create table orders (id int primary key, note text)")
    more = {"snapshot.mode": "no_data", "provide.transaction.metadata": "true", "max.batch.size": "1"}
    with reading(properties | more) as task:
        task.until_drained()
        start = task.offset
        with session.transaction():
            for change in ("insert into orders values (1)", "update orders set id = 2", "update orders set note = 'x'"):
                session.execute(change)
        whole = task.until(5)
    sources = [value["source"] for _, _, value in whole if value]
    commit, *_ = json.loads(sources[-1]["sequence"])
    orders = [value and (value["op"], value["transaction"]["total_order"]) for _, _, value in whole]

    assert orders == [("c", 1), ("d", 2), None, ("c", 3), ("u", 4)]
    assert [json.loads(one["sequence"]) for one in sources] == [[commit, str(one["lsn"])] for one in sources]
    assert sorted(one["lsn"] for one in sources) == [one["lsn"] for one in sources]
    assert int(commit) > sources[-1]["lsn"]

    with reading(properties | more, start) as task:
        first = task.until(1)
        offset = task.offset
    with reading(properties | more, offset) as task:
        assert [*first, *task.until(4)] == whole
