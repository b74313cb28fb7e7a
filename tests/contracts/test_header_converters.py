"""The framework's own header converter keeps its contract."""

import pytest

from eosfw.builtin.converters.simple_header import SimpleHeaderConverter
from pytest_eos.contracts import ConvertedHeaders, HeaderConverterContract
from pytest_eos.contracts.records.samples import VALUES

# As in Kafka Connect, a number is read as the narrowest type that it might have, which has fewer digits.
WITHOUT_FLOAT64 = [(schema, values) for schema, values in VALUES if "98765.4" not in repr(values)]


class TestSimpleHeaderConverter(HeaderConverterContract):
    @pytest.fixture
    def converted_headers(self):
        return ConvertedHeaders(SimpleHeaderConverter, read_back=WITHOUT_FLOAT64)
