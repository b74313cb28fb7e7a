"""The conversion of keys, values and headers to bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from eosfw.data import Schema, SchemaAndValue, Utf8Strings
from eosfw.errors import DataError
from eosfw.protocols import BatchConverter, Converter, HeaderConverter
from eosfw.records import Headers, ProducerBatch, ProducerRecord, SourceRecord
from eosfw.registry.record_parts import RecordParts
from eosfw.runtime.records.one_by_one import Parts, changed_one_by_one
from eosfw.runtime.records.retry_with_tolerance import ProcessingContext, RetryWithToleranceOperator, Stage
from eosfw.state.tasks.poll_batch import PollBatch

_SENDABLE = frozenset((bytes, type(None)))


@dataclass(frozen=True)
class _Stage:
    """One of the three conversions of a record; without a converter it takes bytes alone."""

    stage: Stage
    converter: Converter | HeaderConverter | None

    def sendable(self, made: Any) -> bytes | None:
        """What a converter made, or without one what was given, if it can be sent; DataError if not."""
        if type(made) in _SENDABLE or (self.converter is None and isinstance(made, bytes)):
            return made  # type: ignore[no-any-return]  # it was looked at
        if self.converter is not None:
            raise DataError(f"the {self.shown} returned a {type(made).__name__}, which is not bytes")
        raise DataError(
            f"it is a {type(made).__name__}; only bytes and None can be sent: choose a {self.key}, such as json"
        )

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


@dataclass(frozen=True)
class _Conversion(_Stage):
    """The conversion of keys or values."""

    converter: Converter | None

    def one(self, topic: str, schema: Schema | None, given: Any) -> bytes | None:
        """Convert a key or a value."""
        return self.sendable(
            given if self.converter is None else self.converter.from_connect_data(topic, schema, given)
        )

    def column(self, topic: str, schema: Schema | None, given: Sequence[Any]) -> Sequence[bytes | None]:
        """Convert all; any exception means that `one` tells which cannot be converted."""
        converter: object = self.converter
        if isinstance(converter, BatchConverter):
            given = converter.from_connect_columns(topic, schema, given)
        elif self.converter is not None:
            convert = self.converter.from_connect_data
            given = [convert(topic, schema, one) for one in given]
        elif isinstance(given, Utf8Strings):
            given = given.encoded
        if not _SENDABLE.issuperset(map(type, given)):
            raise TypeError
        return given


@dataclass(frozen=True)
class _HeaderConversion(_Stage):
    """The conversion of headers; without a converter one that states a schema has a converter of its own."""

    of_schemas: HeaderConverter | None = None

    @cached_property
    def _by_name(self) -> HeaderConverter | None:
        # Looked at once: `isinstance` of a protocol takes longer than most conversions.
        return self.converter if isinstance(self.converter, HeaderConverter) else None

    @cached_property
    def _by_value(self) -> Converter | None:
        return self.converter if isinstance(self.converter, Converter) else None

    def all(self, topic: str, headers: Headers) -> Headers:
        """Convert the headers of a record."""
        if self.converter is None and all(type(given) in _SENDABLE for _, given in headers):
            return headers
        return tuple((name, self._one(topic, name, *_with_schema(given))) for name, given in headers)

    def _one(self, topic: str, name: str, schema: Schema | None, given: Any) -> bytes | None:
        if self._by_name is not None:
            given = self._by_name.from_connect_header(topic, name, schema, given)
        elif self._by_value is not None:
            given = self._by_value.from_connect_data(topic, schema, given)
        elif schema is not None and self.of_schemas is not None:
            given = self.of_schemas.from_connect_header(topic, name, schema, given)
        return given if type(given) in _SENDABLE else self.sendable(given)


class RecordConversion:
    """Converts records as they are sent (Kafka Connect's `convertTransformedRecord`)."""

    def __init__(self, parts: RecordParts, operator: RetryWithToleranceOperator) -> None:
        self._operator = operator
        self._headers = _HeaderConversion(Stage.HEADER_CONVERTER, parts.header_converter, parts.schema_header_converter)
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
            return changed_one_by_one(batch, partial(self._converted_record, columns))
        return batch.with_columns(made, batch.kept)

    def _converted(self, columns: ProducerBatch) -> ProducerBatch:
        topic, headers = columns.topic, columns.headers
        return replace(
            columns,
            headers=None if headers is None else [self._headers.all(topic, each) for each in headers],
            keys=None if columns.keys is None else self._key.column(topic, columns.key_schema, columns.keys),
            values=self._value.column(topic, columns.value_schema, columns.values),
        )

    def _converted_record(self, columns: ProducerBatch, record: ProducerRecord, polled: SourceRecord) -> Parts:
        """One record by itself; no metric counts the trial of all."""
        topic, attempt = record.topic, partial(self._tolerant, polled)
        # In Kafka Connect's order: the first that fails is reported.
        return (
            attempt(self._headers, partial(self._headers.all, topic, record.headers)),
            attempt(self._key, partial(self._key.one, topic, columns.key_schema, record.key)),
            attempt(self._value, partial(self._value.one, topic, columns.value_schema, record.value)),
        )

    def _tolerant(self, record: SourceRecord, conversion: _Stage, operation: Callable[[], Any]) -> Any:
        try:
            return operation()
        except Exception as error:  # noqa: BLE001 what it means is for `errors.tolerance` to say
            context = ProcessingContext(conversion.stage, conversion.shown, conversion.executing_class, record)
            return self._operator.recover(context, error, operation)


def _with_schema(value: Any) -> SchemaAndValue:
    """The value of a header with the schema that the task stated, if it did."""
    return value if isinstance(value, SchemaAndValue) else SchemaAndValue(None, value)
