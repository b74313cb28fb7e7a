"""Flat records as Debezium's `ExtractNewRecordState` makes them; `golden/flat.jsonl` has its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from eosfw.data import StructColumns
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord
from eosfw_postgres.extract_new_record_state import ExtractNewRecordState
from kafka_connect.notation import comparable, read_record, shown_record
from postgres.golden.flat_cases import ENVELOPE, KEY, MODES, PROPERTIES, ROWS, SOURCE, questions, records
from pytest_eos.contracts import TransformationContract, TransformedRecords

ANSWERS = [
    json.loads(line)
    for line in Path(__file__).parent.joinpath("golden", "flat.jsonl").read_text(encoding="utf-8").splitlines()
]


def configured(properties: dict[str, str]) -> ExtractNewRecordState:
    made = ExtractNewRecordState()
    made.configure(ExtractNewRecordState.config.parse(properties))
    return made


@pytest.mark.parametrize(("question", "answer"), list(zip(questions(), ANSWERS, strict=True)))
def test_records_become_flat_as_debeziums_transformation_makes_them(
    question: dict[str, Any], answer: dict[str, Any]
) -> None:
    """PGC-36: every mode for deletes and tombstones, added fields and headers, routes, what is no envelope.

    PGC-60: a tombstone has no schema, where Debezium leaves that of the row.
    """
    made = configured(question["properties"]).apply(read_record(question["record"]))

    expected = answer["record"]
    if expected is not None and made is not None and made.value is None:
        expected = {name: value for name, value in expected.items() if name != "value_schema"}
    assert (None if made is None else comparable(shown_record(made))) == (
        None if expected is None else comparable(expected)
    )


def envelopes(ops: Sequence[str], kind: Callable[[list[Any]], Any]) -> StructColumns:
    rows = [ROWS[op] for op in ops]
    columns = {
        "before": [before for before, _ in rows],
        "after": StructColumns(
            {name: kind([after[name] for _, after in rows]) for name in ("id", "name", "size")}, len(rows)
        ),
        "source": StructColumns({name: [value] * len(rows) for name, value in SOURCE.items()}, len(rows)),
        "transaction": [None] * len(rows),
        "op": list(ops),
        "ts_ms": [5] * len(rows),
        "ts_us": [5000] * len(rows),
        "ts_ns": [5_000_000] * len(rows),
    }
    return StructColumns(columns, len(rows))


@pytest.mark.parametrize("kind", [list, pa.array])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("properties", PROPERTIES)
def test_columns_of_envelopes_become_flat_as_each_of_them_does(
    mode: str, properties: dict[str, str], kind: Any
) -> None:
    """PGC-36: by columns the same, lists or arrays, or it is asked one by one."""
    transformation = configured({"delete.tombstone.handling.mode": mode, **properties})
    batch = ProducerBatch("p.public.t", envelopes("cru", kind), [{"id": 1}] * 3, key_schema=KEY, value_schema=ENVELOPE)

    try:
        made = transformation.apply_batch(batch)
    except DataError:
        assert "add.headers" in properties or "route.by.field" in properties or mode.startswith("rewrite")
        return

    assert made is not None
    single = [
        transformation.apply(SourceRecord("p.public.t", value, value_schema=ENVELOPE)) for value in list(batch.values)
    ]
    assert list(made.values) == [one and one.value for one in single]
    assert {one and one.value_schema for one in single} == {made.value_schema}


class TestContract(TransformationContract):
    """PGC-36: it keeps the contract of transformations."""

    @pytest.fixture(params=MODES)
    def transformed(self, request: pytest.FixtureRequest) -> TransformedRecords:
        properties = {"delete.tombstone.handling.mode": request.param, "add.fields": "op"}
        wrong = [{"delete.tombstone.handling.mode": "keep"}]
        *kept, deleted, truncated, tombstone, other = records()
        return TransformedRecords(
            ExtractNewRecordState, properties, [*kept, tombstone, deleted, truncated, other], wrong
        )
