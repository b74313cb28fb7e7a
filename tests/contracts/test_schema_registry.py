"""eosfw-schema-registry keeps the contract of converters."""

import pytest

from eosfw_schema_registry.avro.converter import AvroConverter
from eosfw_schema_registry.json_schema.converter import JsonSchemaConverter
from eosfw_schema_registry.protobuf.converter import ProtobufConverter
from pytest_eos.contracts import ConvertedValues, ConverterContract


class TestAvroConverter(ConverterContract):
    @pytest.fixture
    def converted(self):
        properties = {"schema.registry.url": "mock://contract", "auto.register.schemas": "true"}
        return ConvertedValues(AvroConverter, properties)


class TestJsonSchemaConverter(ConverterContract):
    @pytest.fixture
    def converted(self):
        return ConvertedValues(JsonSchemaConverter, {"schema.registry.url": "mock://contract-json"})


class TestProtobufConverter(ConverterContract):
    @pytest.fixture
    def converted(self):
        properties = {"schema.registry.url": "mock://contract-protobuf", "optional.for.nullables": "true"}
        return ConvertedValues(ProtobufConverter, properties)
