"""Contract tests for everything that a plugin may offer: inherit a class, define its fixture."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_eos.contracts.backends.backend import BackendContract
    from pytest_eos.contracts.backends.deadlines import DeadlineContract
    from pytest_eos.contracts.backends.membership import MembershipContract
    from pytest_eos.contracts.client_config_override_policy import ClientConfigOverridePolicyContract, JudgedOverrides
    from pytest_eos.contracts.config_provider import ConfigProviderContract, ProvidedValues
    from pytest_eos.contracts.connectors.boundaries import TransactionBoundariesContract
    from pytest_eos.contracts.connectors.connector import SourceConnectorContract
    from pytest_eos.contracts.connectors.growing import GrowingSourceContract
    from pytest_eos.contracts.connectors.source import Source
    from pytest_eos.contracts.fencer import FencerContract
    from pytest_eos.contracts.isolation_reader import IsolationReaderContract
    from pytest_eos.contracts.metrics_reporter import MetricsReporterContract, ReportedMetrics
    from pytest_eos.contracts.observer import ObserverContract
    from pytest_eos.contracts.offset_store import OffsetStoreContract
    from pytest_eos.contracts.records.converter import ConvertedValues, ConverterContract
    from pytest_eos.contracts.records.header_converter import ConvertedHeaders, HeaderConverterContract
    from pytest_eos.contracts.records.predicate import ChosenRecords, PredicateContract
    from pytest_eos.contracts.records.transformation import TransformationContract, TransformedRecords
    from pytest_eos.contracts.rest_extension import RestExtensionContract
    from pytest_eos.contracts.rest_server import RestServerContract

__all__ = [
    "BackendContract",
    "ChosenRecords",
    "ClientConfigOverridePolicyContract",
    "ConfigProviderContract",
    "ConvertedHeaders",
    "ConvertedValues",
    "ConverterContract",
    "DeadlineContract",
    "FencerContract",
    "GrowingSourceContract",
    "HeaderConverterContract",
    "IsolationReaderContract",
    "JudgedOverrides",
    "MembershipContract",
    "MetricsReporterContract",
    "ObserverContract",
    "OffsetStoreContract",
    "PredicateContract",
    "ProvidedValues",
    "ReportedMetrics",
    "RestExtensionContract",
    "RestServerContract",
    "Source",
    "SourceConnectorContract",
    "TransactionBoundariesContract",
    "TransformationContract",
    "TransformedRecords",
]

_HOMES = {
    "BackendContract": "backends.backend",
    "ChosenRecords": "records.predicate",
    "ClientConfigOverridePolicyContract": "client_config_override_policy",
    "ConfigProviderContract": "config_provider",
    "ConvertedHeaders": "records.header_converter",
    "ConvertedValues": "records.converter",
    "ConverterContract": "records.converter",
    "DeadlineContract": "backends.deadlines",
    "FencerContract": "fencer",
    "GrowingSourceContract": "connectors.growing",
    "HeaderConverterContract": "records.header_converter",
    "IsolationReaderContract": "isolation_reader",
    "JudgedOverrides": "client_config_override_policy",
    "MembershipContract": "backends.membership",
    "MetricsReporterContract": "metrics_reporter",
    "ObserverContract": "observer",
    "OffsetStoreContract": "offset_store",
    "PredicateContract": "records.predicate",
    "ProvidedValues": "config_provider",
    "ReportedMetrics": "metrics_reporter",
    "RestExtensionContract": "rest_extension",
    "RestServerContract": "rest_server",
    "Source": "connectors.source",
    "SourceConnectorContract": "connectors.connector",
    "TransactionBoundariesContract": "connectors.boundaries",
    "TransformationContract": "records.transformation",
    "TransformedRecords": "records.transformation",
}


def __getattr__(name: str) -> Any:
    # A contract's helpers run in processes of their own, which need neither the contracts nor pytest.
    if name not in _HOMES:
        raise AttributeError(f"module 'pytest_eos.contracts' has no attribute {name!r}")
    return getattr(import_module(f"pytest_eos.contracts.{_HOMES[name]}"), name)
