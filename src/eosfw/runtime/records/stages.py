"""What happens to records between poll and send: checks by schemas, transformations, then conversion to bytes."""

from __future__ import annotations

from collections.abc import Sequence

from eosfw.errors import TaskFailedError
from eosfw.registry.record_parts import RecordParts
from eosfw.runtime.records.conversion import RecordConversion
from eosfw.runtime.records.retry_with_tolerance import RetryWithToleranceOperator
from eosfw.runtime.records.schema_check import SchemaCheck
from eosfw.runtime.records.transformation_chain import TransformationChain
from eosfw.runtime.records.validation import columns_error
from eosfw.state.tasks.poll_batch import PollBatch


class RecordStages:
    """The stages of one task's records, for its thread (a part of Kafka Connect's `AbstractWorkerSourceTask`)."""

    def __init__(self, parts: RecordParts, operator: RetryWithToleranceOperator) -> None:
        self._task = operator.task
        self._check = SchemaCheck(operator)
        self._chain = TransformationChain(parts.stages, operator)
        self._conversion = RecordConversion(parts, operator)

    def apply(self, polled: Sequence[PollBatch]) -> Sequence[PollBatch]:
        """The batches to send: records that are left, as bytes; those that are dropped count for their offsets."""
        checked = map(self._check.apply, polled)
        return [self._converted(batch, made) for batch in checked for made in self._chain.apply(batch)]

    def _converted(self, polled: PollBatch, made: PollBatch) -> PollBatch:
        converted = self._conversion.apply(made if made is polled else self._check.apply(made))
        if made is not polled and (wrong := columns_error(converted.columns)) is not None:
            raise TaskFailedError(f"task {self._task}: a record that transformations made {wrong}")
        return converted
