"""eosfw-schema-registry keeps the contract of converters."""

import pytest

from eosfw_schema_registry.avro.converter import AvroConverter
from eosfw_schema_registry.json_schema.converter import JsonSchemaConverter
from eosfw_schema_registry.protobuf.converter import ProtobufConverter
from pytest_eos.contracts import ConvertedValues, ConverterContract


class TestConverters(ConverterContract):
    @pytest.fixture(params=[AvroConverter, JsonSchemaConverter, ProtobufConverter])
    def converted(self, request):
        properties = {"schema.registry.url": "mock://contract", "auto.register.schemas": "true"}
        return ConvertedValues(request.param, properties, wrong_properties=[{"auto.register.schemas": "perhaps"}])
