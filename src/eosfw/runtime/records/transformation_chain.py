"""The transformations of a connector, applied to what its tasks poll."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import compress
from operator import is_
from typing import cast

from eosfw.data import selected
from eosfw.errors import TaskFailedError
from eosfw.protocols import BatchPredicate, BatchTransformation
from eosfw.records import ProducerBatch, SourceRecord
from eosfw.registry.record_parts import TransformationStage
from eosfw.runtime.records.retry_with_tolerance import (
    ProcessingContext,
    RecordSkippedError,
    RetryWithToleranceOperator,
    Stage,
)
from eosfw.state.tasks.poll_batch import PollBatch, changed_columns


class TransformationChain:
    """Applies transformations in their order (Kafka Connect's `TransformationChain`).

    By columns if all of them can, which costs next to nothing for each record; else record by record.
    """

    def __init__(self, stages: Sequence[TransformationStage], operator: RetryWithToleranceOperator) -> None:
        self._stages, self._operator = tuple(stages), operator
        self._by_columns = all(
            isinstance(stage.transformation, BatchTransformation)
            and (stage.predicate is None or isinstance(stage.predicate, BatchPredicate))
            for stage in stages
        )

    def apply(self, batch: PollBatch) -> Sequence[PollBatch]:
        """The batches to send, with the records of `batch` in their order; dropped ones are kept for their offsets."""
        if not len(batch) or not self._stages:
            return (batch,)
        made = self._applied_to_columns(batch) if self._by_columns else None
        return self._applied_to_records(batch) if made is None else (made,)

    def _applied_to_columns(self, batch: PollBatch) -> PollBatch | None:
        """The batch, changed by columns; None if it must be changed record by record."""
        columns, kept = batch.columns, list(range(len(batch)) if batch.kept is None else batch.kept)
        try:
            for stage in self._stages:
                applies = _applies(stage, columns)
                if True not in applies:
                    continue
                rest = [not one for one in applies]
                made = _apply_batch(stage, columns if True not in rest else _selected(columns, applies))
                if made is None:
                    columns, kept = _selected(columns, rest), list(compress(kept, rest))
                elif True in rest:
                    return None  # records of two kinds, which keep their order
                else:
                    columns = made
        except TaskFailedError:
            raise
        except Exception:  # noqa: BLE001 record by record it shows which one is to blame
            return None
        self._operator.metrics.records_filtered += len(batch.columns) - len(kept)
        return batch if columns is batch.columns else batch.with_columns(columns, kept)

    def _applied_to_records(self, batch: PollBatch) -> Sequence[PollBatch]:
        # What poll returned, if nothing has changed it since: that makes no object for each record.
        unchanged = batch.columns.key_schema is batch.columns.value_schema is None
        records = list(batch.records() if unchanged else batch.sent_records())
        results = [self._applied(record) for record in records]
        return (batch,) if all(map(is_, records, results)) else batch.transformed(results)

    def _applied(self, record: SourceRecord) -> SourceRecord | None:
        current = record
        for stage in self._stages:
            try:
                made = _apply(stage, current)
            except Exception as error:  # noqa: BLE001 what it means is for `errors.tolerance` to say
                kind = type(stage.transformation)
                name = f"{kind.__module__}.{kind.__qualname__}"
                context = ProcessingContext(Stage.TRANSFORMATION, _shown(stage), name, record)
                try:
                    made = self._operator.recover(context, error, partial(_apply, stage, current))
                except RecordSkippedError:
                    return None
            if made is None:
                self._operator.metrics.records_filtered += 1
                return None
            if not isinstance(made, SourceRecord):
                raise TaskFailedError(
                    f"{_shown(stage)} returned a {type(made).__name__}: it must be a SourceRecord or None"
                )
            current = made
        return current


def _apply(stage: TransformationStage, record: SourceRecord) -> SourceRecord | None:
    if stage.predicate is not None and bool(stage.predicate.test(record)) is stage.negate:
        return record
    return stage.transformation.apply(record)


def _applies(stage: TransformationStage, columns: ProducerBatch) -> Sequence[bool]:
    """For each record whether the transformation applies to it."""
    count = len(columns)
    if stage.predicate is None:
        return [True] * count
    answer = cast("BatchPredicate", stage.predicate).test_batch(columns)
    if isinstance(answer, bool):
        return [answer is not stage.negate] * count
    if len(answer) != count:
        wrong = f"predicate {stage.predicate.name!r} judged {len(answer)} of {count} records"
        raise TaskFailedError(f"{wrong}: `test_batch` must give as many, or one answer for all")
    return [bool(one) is not stage.negate for one in answer]


def _apply_batch(stage: TransformationStage, columns: ProducerBatch) -> ProducerBatch | None:
    made = cast("BatchTransformation", stage.transformation).apply_batch(columns)
    if made is not None and len(made) != len(columns):
        raise TaskFailedError(
            f"{_shown(stage)} made {len(made)} of {len(columns)} records: `apply_batch` must give as many, or None"
        )
    return made


def _selected(columns: ProducerBatch, selection: Sequence[bool]) -> ProducerBatch:
    """The records that are selected."""
    return changed_columns(columns, lambda column: selected(column, selection))


def _shown(stage: TransformationStage) -> str:
    return f"transformation {stage.alias!r} ({stage.transformation.name})"
