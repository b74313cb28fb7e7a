"""Records of one stream of changes beside those that Debezium's connector has written of it."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from eosfw.data import SchemaAndValue
from eosfw_postgres.envelope import (
    EnvelopeSettings,
    Origin,
    Records,
    TableDetails,
    TableEnvelope,
    message_keys,
)
from eosfw_postgres.envelope.table_details import ColumnDetails
from eosfw_postgres.pgoutput import Begin, Change, Commit, PgoutputDecoder, Relation, Truncate
from eosfw_postgres.types import TypeSettings, catalog_of
from postgres.golden.answers import answers, as_json, recorded
from postgres.golden.debezium_cases import MODES

NOW = 1_700_000_000_123_456_789
Written = tuple[Any, Any, list[Any]]
STREAMED = [
    pytest.param(mode, table, id=f"{mode}-{table}")
    for mode in ("changes", "transactions", "names")
    for table in MODES[mode][0]
    if (mode, table) != ("changes", "by_index")
]


def settings_of(mode: str) -> EnvelopeSettings:
    properties = MODES[mode][1]
    return EnvelopeSettings(
        mode,
        "postgres",
        TypeSettings(placeholder=properties.get("unavailable.value.placeholder", "__debezium_unavailable_value")),
        tombstones=properties.get("tombstones.on.delete") != "false",
        transactions="provide.transaction.metadata" in properties,
        keys=message_keys(properties.get("message.key.columns", "")),
        schema_names=properties.get("schema.name.adjustment.mode", "none"),
        field_names=properties.get("field.name.adjustment.mode", "none"),
    )


def details_of(table: str) -> TableDetails:
    columns = answers()["tables"][table]["columns"]
    key = {"keys": ("b", "a")}.get(table, tuple(column[0] for column in columns if column[5]))
    return TableDetails({column[0]: ColumnDetails(not column[3], column[4]) for column in columns}, key)


def stream() -> Iterator[tuple[Change | Truncate, Origin]]:
    """The changes that were made while Debezium's connectors were running."""
    decoder, begin, last, order, tables = PgoutputDecoder(), Begin(0, 0, 0), None, 0, defaultdict[str, int](int)
    for lsn, data in answers()["stream"]:
        message = decoder.decode(base64.b64decode(data))
        if isinstance(message, Begin):
            begin, order, tables = message, 0, defaultdict(int)
        elif isinstance(message, Commit):
            last = message.end_lsn
        elif isinstance(message, Change | Truncate):
            relation = message.relation if isinstance(message, Change) else message.relations[0]
            order, tables[relation.name] = order + 1, tables[relation.name] + 1
            yield message, Origin(lsn, begin.xid, begin.commit_time, last, "false", order, tables[relation.name])


def made_of(mode: str, table: str, *, together: bool = False) -> list[Written]:
    """What is made of the changes of a table, one by one or all together."""
    found: list[Written] = []
    envelope: TableEnvelope | None = None
    pending: list[tuple[Change, Origin]] = []
    for change, origin in stream():
        relation = change.relation if isinstance(change, Change) else change.relations[0]
        if relation.name != table:
            continue
        envelope = envelope or envelope_of(relation, mode)
        if isinstance(change, Truncate):
            if MODES[mode][1].get("skipped.operations") == "none":
                found += [*flushed(envelope, pending), *written(envelope, envelope.truncated(origin, NOW))]
            continue
        pending.append((change, origin))
        if not together:
            found += flushed(envelope, pending)
    assert envelope is not None
    return [*found, *flushed(envelope, pending)]


def envelope_of(relation: Relation, mode: str) -> TableEnvelope:
    settings, details = settings_of(mode), details_of(relation.name)
    topic = f"{mode}.public.{relation.name}"
    return TableEnvelope(relation, details, catalog_of(answers()["types"]), settings, topic, lambda *_: None)


def flushed(envelope: TableEnvelope, pending: list[tuple[Change, Origin]]) -> list[Written]:
    changes, origins = [one for one, _ in pending], [one for _, one in pending]
    pending.clear()
    return [one for records in envelope.records(changes, origins, NOW) for one in written(envelope, records)]


def written(envelope: TableEnvelope, records: Records) -> Iterator[Written]:
    """Each record as JSON with its schemas, without what differs from run to run."""
    for at, value in enumerate(records.values):
        key = records.keys[at] if records.keys is not None else None
        headers = records.headers[at] if records.headers else ()
        yield (
            None if key is None else shown(as_json(envelope.key_schema, key)),
            None if value is None else shown(as_json(envelope.value_schema, value)),
            [[name, header(value)] for name, value in headers],
        )


def header(value: SchemaAndValue) -> str:
    """As Connect's SimpleHeaderConverter writes a struct."""
    return json.dumps(value.value, separators=(",", ":"))


def shown(whole: dict[str, Any]) -> list[Any]:
    payload = whole["payload"]
    if "source" in payload:
        payload = {name: value for name, value in payload.items() if name not in ("ts_ms", "ts_us", "ts_ns")}
        payload["source"] = payload["source"] | {"version": ""}
    return [whole["schema"], payload]


def debezium(mode: str, table: str) -> list[Written]:
    schemas, records = recorded(mode, table)

    def whole(part: Any) -> Any:
        return None if part is None else shown({"schema": schemas[part[0]], "payload": part[1]})

    return [
        (whole(key), whole(value), [one for one in headers if not one[0].startswith("__debezium.context")])
        for key, value, headers in records
        # A tombstone without a key, which Debezium writes, too, deletes nothing.
        if (value is None and key is not None) or (value is not None and value[1]["op"] != "r")
    ]


def without_default(table: str, records: list[Written]) -> list[Written]:
    """Debezium cuts the default `x'y` at its quote, so it is compared without."""
    if table != "defaults":
        return records
    found: list[Written] = json.loads(json.dumps(records).replace('"x\'y"', '"x"'))
    return [tuple(one) for one in found]  # type: ignore[misc]


@pytest.mark.parametrize(("mode", "table"), STREAMED)
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_changes_become_the_records_that_debezium_writes(mode: str, table: str, *, together: bool) -> None:
    """PGC-33, PGC-34: schemas, keys, values, sources, tombstones, headers; for each change alone and in columns."""
    ours = without_default(table, made_of(mode, table, together=together))
    theirs = without_default(table, debezium(mode, table))

    assert ours == theirs


def test_a_key_of_an_index_names_the_deleted_row_where_debezium_writes_zeros() -> None:
    """PGC-35: REPLICA IDENTITY USING INDEX sends the columns of the index alone; they are the key."""
    ours, theirs = made_of("changes", "by_index"), debezium("changes", "by_index")

    assert [key[1] for key, _, _ in ours] == [{"a": a} for a in (2, 2, 2, 2, 3, 3, 1, 1)]
    assert [key[1]["c"] for key, _, _ in theirs] == [12, 12, 0, 0, 12, 13, 0, 0]
    assert [value and value[1] for _, value, _ in ours] == [value and value[1] for _, value, _ in theirs]
