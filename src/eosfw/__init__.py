"""Exactly-once source connectors and transactional messaging for Python (KIP-618, KIP-98)."""

from eosfw.config import (
    Boolean,
    Choice,
    Class,
    Config,
    ConfigDef,
    Double,
    Int,
    List,
    Long,
    Password,
    Short,
    String,
)
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
    "Class",
    "Config",
    "ConfigDef",
    "ConnectorTransactionBoundaries",
    "Double",
    "ExactlyOnceSupport",
    "Int",
    "List",
    "Long",
    "Password",
    "Short",
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
