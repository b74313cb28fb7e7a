"""Implement these to give the framework a backend, a cluster, a part, a step engine or a REST interface.

Common rules. Durations are seconds (float); timestamps are milliseconds. Every blocking call takes a `timeout` and
raises when it is over: `ClusterUnavailableError` with the address when nobody answered, `IndefiniteOutcomeError` when
the effect is unknown. No exception of a client library leaves an implementation; it raises the classes of
`eosfw.errors` instead. An object is used by one thread at a time unless its contract says otherwise. `close` may be
called from any thread, also twice, and ends the waiting of other threads inside. Constructors do not block and do not
talk to the cluster unless their contract says so.
"""

from __future__ import annotations

from eosfw.config.override_policy import ClientConfigOverridePolicy, ClientConfigRequest
from eosfw.protocols.client import (
    Admin,
    ArrowLogReader,
    Backend,
    BatchDeliveryCallback,
    ConsumerGroupMetadata,
    DeliveryCallback,
    IsolationLevel,
    LogReader,
    NewTopic,
    OpenTransaction,
    TransactionalProducer,
)
from eosfw.protocols.cluster import LocalCluster
from eosfw.protocols.config_provider import ConfigData, ConfigProvider, LookupRefusedError
from eosfw.protocols.converters import BatchConverter, Converter, HeaderConverter, ReversibleConverter
from eosfw.protocols.group import GroupAssignment, GroupConsumer, GroupDescription, MemberDescription
from eosfw.protocols.herder import Herder
from eosfw.protocols.metrics_reporter import MetricsContext, MetricsReporter
from eosfw.protocols.observer import Observer
from eosfw.protocols.parts import ArrowIsolationReader, Fencer, Gap, GapReason, IsolationReader, OffsetStore
from eosfw.protocols.rest import RestServer
from eosfw.protocols.rest_extension import (
    ConnectClusterState,
    RestCalls,
    RestExtension,
    RestExtensionContext,
    RestResponse,
)
from eosfw.protocols.shared_transaction import (
    AcknowledgedWrite,
    AttachedProducer,
    SharedTransaction,
    SharedTransactions,
    TransactionHandle,
)
from eosfw.protocols.steps import (
    AVAILABLE_NOW,
    OUTPUT_FORMATS,
    OUTPUT_MODES,
    QueryProgress,
    Step,
    StepBatch,
    StepEngine,
    StepInput,
    StepQuery,
    Verdict,
)
from eosfw.protocols.task_host import TaskHost, TaskHostSession, TaskHostSettings, TaskJob, TaskJobSpec
from eosfw.protocols.transformation import BatchPredicate, BatchTransformation, Predicate, Transformation

__all__ = [
    "AVAILABLE_NOW",
    "OUTPUT_FORMATS",
    "OUTPUT_MODES",
    "AcknowledgedWrite",
    "Admin",
    "ArrowIsolationReader",
    "ArrowLogReader",
    "AttachedProducer",
    "Backend",
    "BatchConverter",
    "BatchDeliveryCallback",
    "BatchPredicate",
    "BatchTransformation",
    "ClientConfigOverridePolicy",
    "ClientConfigRequest",
    "ConfigData",
    "ConfigProvider",
    "ConnectClusterState",
    "ConsumerGroupMetadata",
    "Converter",
    "DeliveryCallback",
    "Fencer",
    "Gap",
    "GapReason",
    "GroupAssignment",
    "GroupConsumer",
    "GroupDescription",
    "HeaderConverter",
    "Herder",
    "IsolationLevel",
    "IsolationReader",
    "LocalCluster",
    "LogReader",
    "LookupRefusedError",
    "MemberDescription",
    "MetricsContext",
    "MetricsReporter",
    "NewTopic",
    "Observer",
    "OffsetStore",
    "OpenTransaction",
    "Predicate",
    "QueryProgress",
    "RestCalls",
    "RestExtension",
    "RestExtensionContext",
    "RestResponse",
    "RestServer",
    "ReversibleConverter",
    "SharedTransaction",
    "SharedTransactions",
    "Step",
    "StepBatch",
    "StepEngine",
    "StepInput",
    "StepQuery",
    "TaskHost",
    "TaskHostSession",
    "TaskHostSettings",
    "TaskJob",
    "TaskJobSpec",
    "TransactionHandle",
    "TransactionalProducer",
    "Transformation",
    "Verdict",
]
