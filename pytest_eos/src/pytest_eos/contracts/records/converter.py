"""The contract of a converter: the same bytes for the same value, by columns too, and refusals that show none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial

import pytest

from eosfw.closeables import Closeable
from eosfw.protocols import BatchConverter, Converter, ReversibleConverter
from pytest_eos.contracts.records import conversion_checks as checks
from pytest_eos.contracts.records.outcomes import (
    Refused,
    close_repeatedly,
    made,
    outcome,
    refuse_wrong_properties,
)
from pytest_eos.contracts.records.samples import VALUES, Sample, forms

_KEY = "value.converter"
_TOPIC = "orders"


@dataclass(frozen=True, slots=True)
class ConvertedValues:
    """A converter, and what it is given."""

    converter: type[Converter]
    """A class that is offered by `eosfw_converters`."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What a worker would write as `value.converter.*`."""
    values: Sequence[Sample] = VALUES
    """Schemas, or None, each with values that fit it; it converts one of them at least, and may refuse the others."""
    read_back: Sequence[Sample] | None = None
    """Those that must be read back as they were written; without them all of `values`."""
    wrong_properties: Sequence[Mapping[str, str]] = ()
    """Each over `properties` must be refused; one that the converter does not have is tried anyway."""


class ConverterContract:
    """Inherit, and define the fixture `converted`, which returns `ConvertedValues`."""

    @pytest.fixture
    def converted(self) -> ConvertedValues:
        """The converter under test, and what it is given."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `converted` that returns ConvertedValues")

    @pytest.fixture
    def converter(self, converted: ConvertedValues) -> Iterator[Converter]:
        """A converter that was made and configured as a worker does it."""
        converter = made(converted.converter, _KEY, converted.properties)
        yield converter
        if isinstance(converter, Closeable):
            converter.close()

    def test_a_converter_names_itself(self, converter: Converter) -> None:
        """PLG-15: it is chosen by its name, in `key.converter` or `value.converter`."""
        assert isinstance(converter, Converter)
        assert converter.name

    def test_wrong_properties_are_refused_with_one_sentence(self, converted: ConvertedValues) -> None:
        """PLG-15: before a task starts, with ConfigError."""
        refuse_wrong_properties(converted.converter, _KEY, converted.properties, converted.wrong_properties)

    def test_values_become_bytes_or_are_refused_without_being_shown(
        self, converter: Converter, converted: ConvertedValues
    ) -> None:
        """PLG-15: with schemas and without; logs and the REST interface show the message to whoever asks."""
        checks.refuse_other_than_bytes(partial(converter.from_connect_data, _TOPIC), converted.values)

    def test_a_null_becomes_bytes_or_none_or_is_refused(self, converter: Converter, converted: ConvertedValues) -> None:
        """PLG-15: a value that is null is a tombstone."""
        checks.refuse_nulls_that_fail(partial(converter.from_connect_data, _TOPIC), converted.values)

    def test_the_same_value_becomes_the_same_bytes(self, converter: Converter, converted: ConvertedValues) -> None:
        """PLG-15: verification converts records again, and equal keys must meet in one partition."""
        other = made(converted.converter, _KEY, converted.properties)
        first, second = (partial(one.from_connect_data, _TOPIC) for one in (converter, other))
        checks.refuse_other_bytes_again(first, second, converted.values)

    def test_the_refusal_of_a_field_names_it(self, converter: Converter) -> None:
        """PLG-15: of a mapping whose other fields can be converted."""
        checks.refuse_errors_without_field(partial(converter.from_connect_data, _TOPIC))

    def test_a_conversion_changes_no_value(self, converter: Converter, converted: ConvertedValues) -> None:
        """PLG-15: `commit_record` and verification see the same objects."""
        checks.refuse_changes(partial(converter.from_connect_data, _TOPIC), converted.values)

    def test_columns_become_what_each_value_by_itself_becomes(
        self, converter: Converter, converted: ConvertedValues
    ) -> None:
        """PLG-15: as lists, as columns, as columns of pyarrow; what it raises has each value converted by itself."""
        if not isinstance(converter, BatchConverter):
            return
        used = False
        with_nulls = [(one.as_optional(), [*values, None]) for one, values in converted.values if one is not None]
        for schema, given in (*converted.values, *with_nulls):
            values = deepcopy(given)
            one_by_one = [outcome(converter.from_connect_data, _TOPIC, schema, one) for one in values]
            for column in forms(schema, values):
                before = deepcopy(list(column))
                try:
                    found = converter.from_connect_columns(_TOPIC, schema, column)
                except Exception:  # noqa: BLE001, S112 each value is converted by itself then
                    continue
                kind = f"{type(column).__name__} of {'values without schema' if schema is None else schema.type.name}"
                assert list(found) == one_by_one, f"a {kind} became other bytes than its values by themselves"
                assert list(column) == before, f"it changed the {kind} that it was given"
                used = used or not any(isinstance(one, Refused) for one in one_by_one)
        assert used, "`from_connect_columns` converts none of the columns, so it only costs time"

    def test_what_was_written_is_read_back(self, converter: Converter, converted: ConvertedValues) -> None:
        """PLG-15: if it reads at all; what is read becomes the same bytes again, and has its value with its schema."""
        if isinstance(converter, ReversibleConverter):
            convert, read = partial(converter.from_connect_data, _TOPIC), partial(converter.to_connect_data, _TOPIC)
            samples = converted.values if converted.read_back is None else converted.read_back
            checks.refuse_other_values_read(convert, read, samples)

    def test_bytes_of_others_are_read_or_refused_without_being_shown(self, converter: Converter) -> None:
        """PLG-15: a topic may hold anything."""
        if isinstance(converter, ReversibleConverter):
            checks.refuse_failures_to_read(partial(converter.to_connect_data, _TOPIC))

    def test_a_converter_may_be_closed_repeatedly(self, converter: Converter) -> None:
        """PLG-15: if it can be closed."""
        close_repeatedly(converter)
