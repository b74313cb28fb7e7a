"""The contract of a header converter: the same bytes for the same header, read back, and refusals that show none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest

from eosfw.closeables import Closeable
from eosfw.protocols import HeaderConverter
from pytest_eos.contracts.records import conversion_checks as checks
from pytest_eos.contracts.records.outcomes import Refused, close_repeatedly, made, outcome, refuse_wrong_properties
from pytest_eos.contracts.records.samples import VALUES, Sample

_KEY = "header.converter"
_WHERE = ("orders", "eos-header")


@dataclass(frozen=True, slots=True)
class ConvertedHeaders:
    """A header converter, and what it is given."""

    header_converter: type[HeaderConverter]
    """A class that is offered by `eosfw_header_converters`."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What a worker would write as `header.converter.*`."""
    values: Sequence[Sample] = VALUES
    """Schemas, or None, each with values that fit it; it converts one of them at least, and may refuse the others."""
    read_back: Sequence[Sample] | None = None
    """Those that must be read back as they were written; without them all of `values`."""
    wrong_properties: Sequence[Mapping[str, str]] = ()
    """Each over `properties` must be refused; one that the header converter does not have is tried anyway."""


class HeaderConverterContract:
    """Inherit, and define the fixture `converted_headers`, which returns `ConvertedHeaders`."""

    @pytest.fixture
    def converted_headers(self) -> ConvertedHeaders:
        """The header converter under test, and what it is given."""
        raise pytest.UsageError(
            f"{type(self).__name__}: define a fixture `converted_headers` that returns ConvertedHeaders"
        )

    @pytest.fixture
    def header_converter(self, converted_headers: ConvertedHeaders) -> Iterator[HeaderConverter]:
        """A header converter that was made and configured as a worker does it."""
        converter = made(converted_headers.header_converter, _KEY, converted_headers.properties)
        yield converter
        if isinstance(converter, Closeable):
            converter.close()

    def test_a_header_converter_names_itself(self, header_converter: HeaderConverter) -> None:
        """PLG-16: it is chosen by its name, in `header.converter`."""
        assert isinstance(header_converter, HeaderConverter)
        assert header_converter.name

    def test_wrong_properties_are_refused_with_one_sentence(self, converted_headers: ConvertedHeaders) -> None:
        """PLG-16: before a task starts, with ConfigError."""
        given = converted_headers
        refuse_wrong_properties(given.header_converter, _KEY, given.properties, given.wrong_properties)

    def test_headers_become_bytes_or_are_refused_without_being_shown(
        self, header_converter: HeaderConverter, converted_headers: ConvertedHeaders
    ) -> None:
        """PLG-16: with schemas and without; logs and the REST interface show the message to whoever asks."""
        checks.refuse_other_than_bytes(partial(header_converter.from_connect_header, *_WHERE), converted_headers.values)

    def test_a_null_becomes_bytes_or_none_or_is_refused(
        self, header_converter: HeaderConverter, converted_headers: ConvertedHeaders
    ) -> None:
        """PLG-16: a header may be null."""
        checks.refuse_nulls_that_fail(partial(header_converter.from_connect_header, *_WHERE), converted_headers.values)

    def test_the_same_header_becomes_the_same_bytes(
        self, header_converter: HeaderConverter, converted_headers: ConvertedHeaders
    ) -> None:
        """PLG-16: verification converts records again."""
        other = made(converted_headers.header_converter, _KEY, converted_headers.properties)
        first, second = (partial(one.from_connect_header, *_WHERE) for one in (header_converter, other))
        checks.refuse_other_bytes_again(first, second, converted_headers.values)

    def test_the_refusal_of_a_header_names_it(self, header_converter: HeaderConverter) -> None:
        """PLG-16: it is given the name."""
        found = outcome(header_converter.from_connect_header, *_WHERE, None, object())
        if isinstance(found, Refused):
            assert _WHERE[1] in found.message, f"the refusal of a header does not name it: {found.message}"

    def test_a_conversion_changes_no_value(
        self, header_converter: HeaderConverter, converted_headers: ConvertedHeaders
    ) -> None:
        """PLG-16: `commit_record` and verification see the same objects."""
        checks.refuse_changes(partial(header_converter.from_connect_header, *_WHERE), converted_headers.values)

    def test_what_was_written_is_read_back(
        self, header_converter: HeaderConverter, converted_headers: ConvertedHeaders
    ) -> None:
        """PLG-16: what is read becomes the same bytes again, and has its value with its schema."""
        convert = partial(header_converter.from_connect_header, *_WHERE)
        read = partial(header_converter.to_connect_header, *_WHERE)
        given = converted_headers
        checks.refuse_other_values_read(convert, read, given.values if given.read_back is None else given.read_back)

    def test_bytes_of_others_are_read_or_refused_without_being_shown(self, header_converter: HeaderConverter) -> None:
        """PLG-16: a topic may hold anything."""
        checks.refuse_failures_to_read(partial(header_converter.to_connect_header, *_WHERE))

    def test_a_header_converter_may_be_closed_repeatedly(self, header_converter: HeaderConverter) -> None:
        """PLG-16: if it can be closed."""
        close_repeatedly(header_converter)
