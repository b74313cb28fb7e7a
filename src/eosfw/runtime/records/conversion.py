"""The conversion of keys, values and headers to bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from eosfw.protocols import Converter
from eosfw.records import Headers, ProducerBatch, ProducerRecord, SourceRecord
from eosfw.registry.record_parts import RecordParts
from eosfw.runtime.records.retry_with_tolerance import (
    ProcessingContext,
    RecordSkippedError,
    RetryWithToleranceOperator,
    Stage,
)
from eosfw.state.tasks.poll_batch import PollBatch, changed_columns

_SENDABLE = frozenset((bytes, type(None)))


@dataclass(frozen=True, slots=True)
class _Conversion:
    """One of the three conversions of a record; without a converter it takes bytes alone."""

    stage: Stage
    converter: Converter | None

    def one(self, topic: str, given: Any) -> bytes | None:
        """Convert a key, a value or the value of a header."""
        if self.converter is not None:
            made = self.converter.from_connect_data(topic, given)
            if type(made) not in _SENDABLE:
                raise TypeError(f"the {self.shown} returned a {type(made).__name__}, which is not bytes")
            return made
        if given is None or isinstance(given, bytes):
            return given
        raise TypeError(
            f"it is a {type(given).__name__}; only bytes and None can be sent: choose a {self.key}, such as json"
        )

    def column(self, topic: str, given: Sequence[Any]) -> Sequence[bytes | None]:
        """Convert all; any exception means that `one` tells which cannot be converted."""
        if self.converter is not None:
            convert = self.converter.from_connect_data
            given = [convert(topic, one) for one in given]
        if not _SENDABLE.issuperset(map(type, given)):
            raise TypeError
        return given

    @property
    def key(self) -> str:
        """The property that chooses the converter, such as `value.converter`."""
        return self.stage.value.replace(" ", ".")

    @property
    def shown(self) -> str:
        """The part that converts, as a user knows it."""
        return self.key if self.converter is None else f"{self.key} {self.converter.name!r}"

    @property
    def executing_class(self) -> str:
        """The class of the converter."""
        kind = type(self if self.converter is None else self.converter)
        return f"{kind.__module__}.{kind.__qualname__}"


class RecordConversion:
    """Converts records as they are sent (Kafka Connect's `convertTransformedRecord`)."""

    def __init__(self, parts: RecordParts, operator: RetryWithToleranceOperator) -> None:
        self._operator = operator
        self._headers = _Conversion(Stage.HEADER_CONVERTER, parts.header_converter)
        self._key = _Conversion(Stage.KEY_CONVERTER, parts.key_converter)
        self._value = _Conversion(Stage.VALUE_CONVERTER, parts.value_converter)

    def apply(self, batch: PollBatch) -> PollBatch:
        """The batch with bytes alone; records that cannot be converted are dropped if that is tolerated."""
        columns = batch.columns
        if not len(columns):
            return batch
        try:
            made = self._converted(columns)
        except Exception:  # noqa: BLE001 one by one it shows which record is to blame
            return self._one_by_one(batch)
        return batch.with_columns(made, batch.kept)

    def _converted(self, columns: ProducerBatch) -> ProducerBatch:
        topic, headers = columns.topic, columns.headers
        return replace(
            columns,
            headers=None if headers is None else [self._converted_headers(topic, each) for each in headers],
            keys=None if columns.keys is None else self._key.column(topic, columns.keys),
            values=self._value.column(topic, columns.values),
        )

    def _converted_headers(self, topic: str, headers: Headers) -> Headers:
        return tuple((name, self._headers.one(topic, value)) for name, value in headers)

    def _one_by_one(self, batch: PollBatch) -> PollBatch:
        """Convert each record by itself, so that each that cannot be is found; no metric counts the trial of all."""
        columns, polled = batch.columns, list(batch.records())
        places = range(len(columns)) if batch.kept is None else batch.kept
        rows: dict[int, tuple[Headers, bytes | None, bytes | None]] = {}
        for at, record in enumerate(columns.records()):
            with suppress(RecordSkippedError):
                rows[at] = self._converted_record(record, polled[places[at]])
        headers, keys, values = map(list, zip(*rows.values(), strict=True)) if rows else ([], [], [])
        left = changed_columns(columns, lambda column: [column[at] for at in rows])
        converted = replace(
            left,
            values=values,
            keys=None if columns.keys is None else keys,
            headers=None if columns.headers is None else headers,
        )
        return batch.with_columns(converted, [places[at] for at in rows])

    def _converted_record(
        self, record: ProducerRecord, polled: SourceRecord
    ) -> tuple[Headers, bytes | None, bytes | None]:
        topic, attempt = record.topic, partial(self._tolerant, polled)
        # In Kafka Connect's order: the first that fails is reported.
        return (
            attempt(self._headers, partial(self._converted_headers, topic, record.headers)),
            attempt(self._key, partial(self._key.one, topic, record.key)),
            attempt(self._value, partial(self._value.one, topic, record.value)),
        )

    def _tolerant(self, record: SourceRecord, conversion: _Conversion, operation: Callable[[], Any]) -> Any:
        try:
            return operation()
        except Exception as error:  # noqa: BLE001 what it means is for `errors.tolerance` to say
            context = ProcessingContext(conversion.stage, conversion.shown, conversion.executing_class, record)
            return self._operator.recover(context, error, operation)
