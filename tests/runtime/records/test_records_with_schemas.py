"""Records with schemas on their way from a task to its topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from eosfw.data import INT64, Schema, StructColumns, arrow, columns, schema_of
from eosfw.records import SourceBatch, SourceRecord

from ..scripted_task import failure, run, scripted


@dataclass
class Order:
    id: int
    note: str | None = None


ORDER = schema_of(Order)


class Shown:
    """Writes the names of a schema's fields, and the value."""

    name = "shown"

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return repr((None if schema is None else schema.names, value)).encode()


class Counted(Shown):
    """The same of many values at once; keeps what it was given."""

    name = "counted"
    given: Sequence[Any] = ()

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> list[bytes | None]:
        type(self).given = values
        return [self.from_connect_data(topic, schema, one) for one in values]


class Doubled:
    """Doubles the id, and says so in the schema."""

    name = "doubled"

    def apply(self, record: SourceRecord) -> SourceRecord:
        value = {**record.value, "id": record.value["id"] * 2}
        return replace(record, value=value, value_schema=replace(ORDER, name="Doubled"))


class Spoilt:
    """Makes a text of the id, which the schema does not allow."""

    name = "spoilt"

    def apply(self, record: SourceRecord) -> SourceRecord:
        return replace(record, value={**record.value, "id": "secret"})


def order(number: int, value: Any = None, schema: Schema | None = ORDER) -> SourceRecord:
    value = Order(number) if value is None else value
    return SourceRecord("t", value, None, {"p": "a"}, {"o": number}, value_schema=schema)


def shown(*numbers: int) -> list[bytes]:
    return [repr((("id", "note"), {"id": number, "note": None})).encode() for number in numbers]


@pytest.mark.parametrize("kind", [Shown, Counted])
def test_a_converter_gets_every_struct_in_one_form_with_its_schema(kind: type[Shown]) -> None:
    """SCH-07: by itself or with others."""
    polled = [order(1), order(2, {"id": 2}), order(3, (3, None))]
    stage = run(scripted(polled), parts=[kind], value_converter=kind.name)

    assert stage.cluster.committed("t") == shown(1, 2, 3)


def test_a_transformation_gets_that_form_and_what_it_makes_is_checked_again() -> None:
    """SCH-07: `Doubled` takes a mapping, and the task gave instances of a dataclass."""
    more = {"transforms": "d", "transforms_d_type": "doubled"}
    stage = run(scripted([order(1), order(2)]), parts=[Shown, Doubled], value_converter="shown", **more)

    assert stage.cluster.committed("t") == shown(2, 4)


def test_a_transformation_whose_result_does_not_fit_fails_the_task() -> None:
    """SCH-04: the value is not in the message."""
    more = {"transforms": "s", "transforms_s_type": "spoilt"}
    stage = run(scripted([order(1)]), parts=[Shown, Spoilt], value_converter="shown", **more)

    assert "field 'id' is of type str; its schema wants INT64" in failure(stage)
    assert "secret" not in failure(stage)


def test_a_value_that_does_not_fit_is_named_with_connector_topic_and_field() -> None:
    """SCH-04."""
    stage = run(scripted([order(1), order(2, {"id": "secret"})]), parts=[Shown], value_converter="shown")

    message = failure(stage)
    assert "task c-0: the check of the value against its schema failed for a record (topic 't'" in message
    assert "source offset {'o': 2}" in message
    assert "field 'id' is of type str; its schema wants INT64" in message
    assert "secret" not in message
    assert stage.cluster.committed("t") == []


def test_a_value_that_does_not_fit_is_dropped_if_that_is_tolerated_and_its_offset_commits() -> None:
    """SCH-04, TXN-04."""
    polled = [order(1), order(2, {"id": "x"}), order(3), order(4, {})]
    more = {"transforms": "d", "transforms_d_type": "doubled"}
    stage = run(scripted(polled), parts=[Shown, Doubled], value_converter="shown", errors_tolerance="all", **more)

    assert stage.cluster.committed("t") == shown(2, 6)
    assert stage.cluster.committed("g-offsets") == [b'{"o":4}']
    (task,) = stage.worker.status().tasks
    assert task.error_handling.records_skipped == 2


def test_records_of_several_schemas_keep_their_order() -> None:
    """SCH-07: a tombstone has none."""
    polled = [order(1), order(2, b"", None), order(3, 7, INT64), order(4)]
    stage = run(scripted(polled), parts=[Counted], value_converter="counted")

    assert stage.cluster.committed("t") == [shown(1)[0], b"(None, b'')", b"((), 7)", shown(4)[0]]


def test_a_record_batch_of_arrow_reaches_the_converter_as_columns_with_its_schema() -> None:
    """SCH-08."""
    rows = pa.record_batch({"id": pa.array([1, 2]), "note": pa.array([None, None], pa.string())})
    stage = run(scripted(SourceBatch("t", rows, {"p": "a"}, {"o": 2})), parts=[Counted], value_converter="counted")

    assert stage.cluster.committed("t") == shown(1, 2)
    assert isinstance(Counted.given, StructColumns)
    assert Counted.given.by_arrow
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}']


def test_a_record_batch_without_a_converter_is_refused() -> None:
    """SCH-08: so is one of another class of Arrow."""
    rows = pa.record_batch({"id": pa.array([1, 2])})
    assert "sent: choose a converter, such as value.converter=json" in failure(
        run(scripted(SourceBatch("t", rows, {}, {})))
    )
    numbered = SourceBatch("t", [b"a", b"b"], {}, {}, keys=pa.array([b"1", b"2"]))
    assert (
        "holds a BinaryArray as key; only bytes and None can be sent: choose a converter, such as key.converter=byte"
        in (failure(run(scripted(numbered))))
    )
    table = SourceBatch("t", pa.table(rows.to_pydict()), {}, {})
    assert "has a pyarrow.Table as keys or values; it must be a pyarrow.RecordBatch or pyarrow.Array" in failure(
        run(scripted(table))
    )


CHAIN = {
    "transforms": "hoist,extract,insert,replace,mask,cast",
    "transforms_hoist_type": "HoistField$Value",
    "transforms_hoist_field": "order",
    "transforms_extract_type": "ExtractField$Value",
    "transforms_extract_field": "order",
    "transforms_insert_type": "InsertField$Value",
    "transforms_insert_topic.field": "topic",
    "transforms_insert_timestamp.field": "at",
    "transforms_insert_static.field": "source",
    "transforms_insert_static.value": "shop",
    "transforms_replace_type": "ReplaceField$Value",
    "transforms_replace_exclude": "secret",
    "transforms_replace_renames": "note:comment",
    "transforms_mask_type": "MaskField$Value",
    "transforms_mask_fields": "comment",
    "transforms_cast_type": "Cast$Value",
    "transforms_cast_spec": "id:string",
    "transforms_cast_predicate": "tombstone",
    "transforms_cast_negate": "true",
    "predicates": "tombstone",
    "predicates_tombstone_type": "RecordIsTombstone",
}


def noted(made: list[str], kind: Any, name: str) -> Any:
    """A function that notes each call of it."""
    function = getattr(kind, name)

    def note(*given: Any) -> Any:
        made.append(name)
        return function(*given)

    return note


def test_no_step_between_poll_and_converter_makes_rows_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """CNV-41: nor does json; the bytes are those of single records."""
    rows = [{"id": number, "note": None if number == 2 else f"n{number}", "secret": "x"} for number in range(4)]
    batch = pa.RecordBatch.from_pylist(rows)
    single = [SourceRecord("t", one, None, {}, {}, timestamp=7, value_schema=schema_of(batch.schema)) for one in rows]
    wanted = run(scripted(single), value_converter="json", **CHAIN).cluster.committed("t")
    made: list[str] = []
    for kind, name in ((arrow, "plain_values"), (columns, "_value"), (StructColumns, "__iter__")):
        monkeypatch.setattr(kind, name, noted(made, kind, name))

    stage = run(scripted(SourceBatch("t", batch, {}, {"o": 4}, timestamps=[7] * 4)), value_converter="json", **CHAIN)

    assert stage.cluster.committed("t") == wanted
    assert made == []


def test_arrays_of_pyarrow_are_keys_and_values_with_the_schemas_of_their_types() -> None:
    """SCH-08: also structs that are an array, and keys that are a record batch."""
    structs = pa.array([{"id": 1, "note": None}, {"id": 2, "note": "n"}])
    keys = pa.record_batch({"k": pa.array([1, 2], pa.int32())})
    polled = [SourceBatch("t", pa.array(["a", None]), {}, {"o": 2}), SourceBatch("t", structs, {}, {"o": 4}, keys=keys)]
    stage = run(scripted(*polled), value_converter="json", key_converter="json", value_converter_schemas_enable="false")

    assert stage.cluster.committed("t") == [b'"a"', b"null", b'{"id":1,"note":null}', b'{"id":2,"note":"n"}']


def test_an_array_that_a_converter_takes_one_by_one_is_values_of_python() -> None:
    """SCH-08."""
    batch = SourceBatch("t", pa.array([1, None]), {}, {"o": 2})
    stage = run(scripted(batch), parts=[Shown], value_converter="shown")

    assert stage.cluster.committed("t") == [b"((), 1)", b"((), None)"]


def test_a_field_of_a_record_batch_becomes_texts_without_a_value_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """CNV-41, CNV-42."""
    batch = pa.record_batch({"id": pa.array([1, 2]), "note": pa.array(["a", None])})
    made: list[str] = []
    for kind, name in ((arrow, "plain_values"), (columns, "_value"), (StructColumns, "__iter__")):
        monkeypatch.setattr(kind, name, noted(made, kind, name))
    extract = {"transforms": "e", "transforms_e_type": "ExtractField$Value", "transforms_e_field": "note"}

    stage = run(scripted(SourceBatch("t", batch, {}, {"o": 2})), value_converter="string", **extract)

    assert stage.cluster.committed("t") == [b"a", None]
    assert made == []
