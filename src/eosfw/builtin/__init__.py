"""Offer the framework's own parts by the door every plugin uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl

if TYPE_CHECKING:
    from eosfw.protocols import (
        ConfigProvider,
        Converter,
        Fencer,
        HeaderConverter,
        IsolationReader,
        OffsetStore,
        Predicate,
        Transformation,
    )


@hookimpl
def eosfw_offset_stores() -> Iterable[type[OffsetStore]]:
    """Offer Kafka Connect's own form of source offsets."""
    from eosfw.builtin.offset_store import KafkaOffsetStore

    return [KafkaOffsetStore]


@hookimpl
def eosfw_isolation_readers() -> Iterable[type[IsolationReader]]:
    """Offer Kafka's two isolation levels."""
    from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted

    return [ReadCommitted, ReadUncommitted]


@hookimpl
def eosfw_fencers() -> Iterable[type[Fencer]]:
    """Offer the fencer of every backend that brings none of its own."""
    from eosfw.builtin.fencer import AdminFencer

    return [AdminFencer]


@hookimpl
def eosfw_transforms() -> Iterable[type[Transformation]]:
    """Offer the transformations of Kafka Connect."""
    from eosfw.builtin.transforms.cast import CastKey, CastValue
    from eosfw.builtin.transforms.extract_field import ExtractFieldKey, ExtractFieldValue
    from eosfw.builtin.transforms.filter import Filter
    from eosfw.builtin.transforms.flatten import FlattenKey, FlattenValue
    from eosfw.builtin.transforms.headers import DropHeaders, HeaderFromKey, HeaderFromValue, InsertHeader
    from eosfw.builtin.transforms.hoist_field import HoistFieldKey, HoistFieldValue
    from eosfw.builtin.transforms.insert_field import InsertFieldKey, InsertFieldValue
    from eosfw.builtin.transforms.mask_field import MaskFieldKey, MaskFieldValue
    from eosfw.builtin.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
    from eosfw.builtin.transforms.routers import RegexRouter, TimestampRouter
    from eosfw.builtin.transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue
    from eosfw.builtin.transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
    from eosfw.builtin.transforms.value_to_key import ValueToKey

    return [
        *(CastKey, CastValue, DropHeaders, ExtractFieldKey, ExtractFieldValue, Filter, FlattenKey, FlattenValue),
        *(HeaderFromKey, HeaderFromValue, HoistFieldKey, HoistFieldValue, InsertFieldKey, InsertFieldValue),
        *(InsertHeader, MaskFieldKey, MaskFieldValue, RegexRouter, ReplaceFieldKey, ReplaceFieldValue),
        *(SetSchemaMetadataKey, SetSchemaMetadataValue, TimestampConverterKey, TimestampConverterValue),
        *(TimestampRouter, ValueToKey),
    ]


@hookimpl
def eosfw_predicates() -> Iterable[type[Predicate]]:
    """Offer the predicates of Kafka Connect."""
    from eosfw.builtin.transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches

    return [HasHeaderKey, RecordIsTombstone, TopicNameMatches]


@hookimpl
def eosfw_converters() -> Iterable[type[Converter]]:
    """Offer converters of Kafka Connect."""
    from eosfw.builtin.converters.byte_array import ByteArrayConverter
    from eosfw.builtin.converters.json import JsonConverter
    from eosfw.builtin.converters.primitives import PRIMITIVE_CONVERTERS
    from eosfw.builtin.converters.string import StringConverter

    return [ByteArrayConverter, JsonConverter, StringConverter, *PRIMITIVE_CONVERTERS]


@hookimpl
def eosfw_header_converters() -> Iterable[type[HeaderConverter]]:
    """Offer the header converter of Kafka Connect that is no converter."""
    from eosfw.builtin.converters.simple_header import SimpleHeaderConverter

    return [SimpleHeaderConverter]


@hookimpl
def eosfw_config_providers() -> Iterable[type[ConfigProvider]]:
    """Offer Kafka's config providers."""
    from eosfw.builtin.config_providers import DirectoryConfigProvider, EnvVarConfigProvider, FileConfigProvider

    return [DirectoryConfigProvider, EnvVarConfigProvider, FileConfigProvider]
