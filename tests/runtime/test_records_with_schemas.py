"""Records with schemas on their way from a task to its topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from eosfw.data import INT64, Schema, StructColumns, schema_of
from eosfw.records import SourceBatch, SourceRecord

from .scripted_task import failure, run, scripted


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
    table = SourceBatch("t", pa.table(rows.to_pydict()), {}, {})
    assert "has a pyarrow.Table as values; it must be a pyarrow.RecordBatch" in failure(run(scripted(table)))
