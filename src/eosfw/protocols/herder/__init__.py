"""What a worker of a group offers to its REST interface (Kafka Connect's `Herder` and its `rest.entities`).

A herder answers for its own worker. What only the leader may do raises NotLeaderError with the leader's URL in a worker
that follows; the REST interface forwards the request there.
"""

from eosfw.protocols.herder.entities import (
    ActiveTopics,
    ConfigInfo,
    ConfigInfos,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorPluginInfo,
    ConnectorState,
    ConnectorStateInfo,
    CreatedConnector,
    GroupMember,
    InternalRequest,
    LoggerLevel,
    MovingTask,
    OpenTransactionInfo,
    ServerInfo,
    StreamingQueryInfo,
    TaskInfo,
    TaskStateInfo,
    TransactionPartition,
    WorkerGroup,
    WorkerHealth,
)
from eosfw.protocols.herder.herder import Herder, WorkerGroupQueries

__all__ = [
    "ActiveTopics",
    "ConfigInfo",
    "ConfigInfos",
    "ConnectorInfo",
    "ConnectorOffset",
    "ConnectorPluginInfo",
    "ConnectorState",
    "ConnectorStateInfo",
    "CreatedConnector",
    "GroupMember",
    "Herder",
    "InternalRequest",
    "LoggerLevel",
    "MovingTask",
    "OpenTransactionInfo",
    "ServerInfo",
    "StreamingQueryInfo",
    "TaskInfo",
    "TaskStateInfo",
    "TransactionPartition",
    "WorkerGroup",
    "WorkerGroupQueries",
    "WorkerHealth",
]
