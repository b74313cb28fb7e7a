"""The framework's own converters keep their contract."""

import pytest

from eosfw.builtin.converters.byte_array import ByteArrayConverter
from eosfw.builtin.converters.json import JsonConverter
from eosfw.builtin.converters.primitives import PRIMITIVE_CONVERTERS
from eosfw.builtin.converters.string import StringConverter
from pytest_eos.contracts import ConvertedValues, ConverterContract
from pytest_eos.contracts.records.samples import VALUES

JSON = [{"schemas.enable": "false"}, {"decimal.format": "NUMERIC"}, {"replace.null.with.default": "false"}, {}]
NOT_BYTES = [(schema, values) for schema, values in VALUES if not isinstance(values[0], bytes)]


class TestConverters(ConverterContract):
    @pytest.fixture(params=[StringConverter, ByteArrayConverter, *PRIMITIVE_CONVERTERS, *JSON], ids=str)
    def converted(self, request):
        if isinstance(request.param, dict):
            wrong = [{"decimal.format": "HEX"}, {"schemas.enable": "x"}]
            return ConvertedValues(JsonConverter, request.param, wrong_properties=wrong)
        return ConvertedValues(request.param, read_back=NOT_BYTES if request.param is StringConverter else None)
