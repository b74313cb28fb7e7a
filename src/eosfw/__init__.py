"""Exactly-once source connectors and transactional messaging for Python (KIP-618, KIP-98)."""

from eosfw.config import Boolean, Choice, Config, ConfigDef, Int, List, Long, Password, String
from eosfw.connectors import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    SourceProgress,
    SourceTask,
    SourceTaskContext,
    TransactionContext,
)
from eosfw.hookspecs import hookimpl
from eosfw.records import SourceBatch, SourceRecord

__version__ = "0.1.0"

__all__ = [
    "Boolean",
    "Choice",
    "Config",
    "ConfigDef",
    "ConnectorTransactionBoundaries",
    "ExactlyOnceSupport",
    "Int",
    "List",
    "Long",
    "Password",
    "SourceBatch",
    "SourceConnector",
    "SourceProgress",
    "SourceRecord",
    "SourceTask",
    "SourceTaskContext",
    "String",
    "TransactionContext",
    "__version__",
    "hookimpl",
]
