"""Contract tests for everything that a plugin may offer: inherit a class, define its fixture."""

from pytest_eos.contracts.backends.backend import BackendContract
from pytest_eos.contracts.backends.deadlines import DeadlineContract
from pytest_eos.contracts.boundaries import TransactionBoundariesContract
from pytest_eos.contracts.client_config_override_policy import ClientConfigOverridePolicyContract, JudgedOverrides
from pytest_eos.contracts.config_provider import ConfigProviderContract, ProvidedValues
from pytest_eos.contracts.connector import SourceConnectorContract
from pytest_eos.contracts.fencer import FencerContract
from pytest_eos.contracts.isolation_reader import IsolationReaderContract
from pytest_eos.contracts.membership import MembershipContract
from pytest_eos.contracts.metrics_reporter import MetricsReporterContract, ReportedMetrics
from pytest_eos.contracts.observer import ObserverContract
from pytest_eos.contracts.offset_store import OffsetStoreContract
from pytest_eos.contracts.records.converter import ConvertedValues, ConverterContract
from pytest_eos.contracts.records.header_converter import ConvertedHeaders, HeaderConverterContract
from pytest_eos.contracts.records.predicate import ChosenRecords, PredicateContract
from pytest_eos.contracts.records.transformation import TransformationContract, TransformedRecords
from pytest_eos.contracts.rest_extension import RestExtensionContract
from pytest_eos.contracts.rest_server import RestServerContract
from pytest_eos.contracts.source import Source

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
