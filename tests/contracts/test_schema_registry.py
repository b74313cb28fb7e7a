"""eosfw-schema-registry keeps the contract of converters."""

import pytest

from eosfw_schema_registry.avro.converter import AvroConverter
from pytest_eos.contracts import ConvertedValues, ConverterContract


class TestAvroConverter(ConverterContract):
    @pytest.fixture
    def converted(self):
        properties = {"schema.registry.url": "mock://contract", "auto.register.schemas": "true"}
        return ConvertedValues(AvroConverter, properties)
