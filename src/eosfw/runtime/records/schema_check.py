"""The check of keys and values against their schemas, before transformations and after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from eosfw.data import Schema, fitted, fitted_values
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, ProducerRecord, SourceRecord
from eosfw.runtime.records.one_by_one import Parts, changed_one_by_one
from eosfw.runtime.records.retry_with_tolerance import ProcessingContext, RetryWithToleranceOperator, Stage
from eosfw.state.tasks.poll_batch import PollBatch


class SchemaCheck:
    """Gives keys and values the form that transformations and converters know (`ConnectSchema.validateValue`)."""

    def __init__(self, operator: RetryWithToleranceOperator) -> None:
        self._operator = operator

    def apply(self, batch: PollBatch) -> PollBatch:
        """The batch with what fits its schemas; records that do not are dropped if that is tolerated."""
        columns = batch.columns
        if columns.key_schema is columns.value_schema is None or not len(columns):
            return batch
        if columns.key_schema is not None and columns.keys is None:
            columns = replace(columns, keys=[None] * len(columns))
        try:
            checked = _checked(columns)
        except DataError:  # one by one it shows which record is to blame
            return changed_one_by_one(batch.with_columns(columns, batch.kept), partial(self._checked_record, columns))
        return batch.with_columns(checked, batch.kept)

    def _checked_record(self, columns: ProducerBatch, record: ProducerRecord, polled: SourceRecord) -> Parts:
        key = self._one(Stage.KEY_CONVERTER, columns.key_schema, record.key, polled)
        return record.headers, key, self._one(Stage.VALUE_CONVERTER, columns.value_schema, record.value, polled)

    def _one(self, stage: Stage, schema: Schema | None, value: Any, polled: SourceRecord) -> Any:
        if schema is None:
            return value
        try:
            return fitted(schema, value)
        except DataError as error:
            what = f"the check of the {stage.value.partition(' ')[0]} against its schema"
            context = ProcessingContext(stage, what, f"{fitted.__module__}.{fitted.__qualname__}", polled)
            return self._operator.recover(context, error, partial(fitted, schema, value))


def _checked(columns: ProducerBatch) -> ProducerBatch:
    keys: Sequence[Any] | None = columns.keys
    values: Sequence[Any] = columns.values
    if columns.key_schema is not None and keys is not None:
        keys = fitted_values(columns.key_schema, keys)
    if columns.value_schema is not None:
        values = fitted_values(columns.value_schema, values)
    return replace(columns, keys=keys, values=values)
