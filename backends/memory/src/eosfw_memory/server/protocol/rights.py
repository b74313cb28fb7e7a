"""The table of what each request needs: the rights that Kafka's `KafkaApis` and `ControllerApis` check.

Handlers check them by `authorization`; a test compares what they ask with this table, request by request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eosfw_memory.server.security.acl.acl_binding import AclOperation, ResourceType
from eosfw_memory.server.security.acl.right import Right

TOPIC_READ: Final = Right(AclOperation.READ, ResourceType.TOPIC)
TOPIC_WRITE: Final = Right(AclOperation.WRITE, ResourceType.TOPIC)
TOPIC_CREATE: Final = Right(AclOperation.CREATE, ResourceType.TOPIC)
TOPIC_DELETE: Final = Right(AclOperation.DELETE, ResourceType.TOPIC)
TOPIC_ALTER: Final = Right(AclOperation.ALTER, ResourceType.TOPIC)
TOPIC_DESCRIBE: Final = Right(AclOperation.DESCRIBE, ResourceType.TOPIC)
TOPIC_DESCRIBE_CONFIGS: Final = Right(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
TOPIC_ALTER_CONFIGS: Final = Right(AclOperation.ALTER_CONFIGS, ResourceType.TOPIC)
GROUP_READ: Final = Right(AclOperation.READ, ResourceType.GROUP)
GROUP_DESCRIBE: Final = Right(AclOperation.DESCRIBE, ResourceType.GROUP)
GROUP_DELETE: Final = Right(AclOperation.DELETE, ResourceType.GROUP)
GROUP_DESCRIBE_CONFIGS: Final = Right(AclOperation.DESCRIBE_CONFIGS, ResourceType.GROUP)
GROUP_ALTER_CONFIGS: Final = Right(AclOperation.ALTER_CONFIGS, ResourceType.GROUP)
TRANSACTIONAL_ID_WRITE: Final = Right(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID)
TRANSACTIONAL_ID_DESCRIBE: Final = Right(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
CLUSTER_CREATE: Final = Right(AclOperation.CREATE, ResourceType.CLUSTER)
CLUSTER_DELETE: Final = Right(AclOperation.DELETE, ResourceType.CLUSTER)
CLUSTER_ALTER: Final = Right(AclOperation.ALTER, ResourceType.CLUSTER)
CLUSTER_DESCRIBE: Final = Right(AclOperation.DESCRIBE, ResourceType.CLUSTER)
CLUSTER_ACTION: Final = Right(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)
CLUSTER_DESCRIBE_CONFIGS: Final = Right(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
CLUSTER_ALTER_CONFIGS: Final = Right(AclOperation.ALTER_CONFIGS, ResourceType.CLUSTER)
CLUSTER_IDEMPOTENT_WRITE: Final = Right(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)

RIGHTS: Final[Mapping[str, Mapping[Right, str]]] = {
    "Produce": {TRANSACTIONAL_ID_WRITE: "for transactional records", TOPIC_WRITE: "of each topic"},
    "Fetch": {TOPIC_READ: "of each topic", CLUSTER_ACTION: "instead, in the name of a replica"},
    "ListOffsets": {TOPIC_DESCRIBE: "of each topic"},
    "Metadata": {
        TOPIC_DESCRIBE: "of each topic; of all topics those without it are left out",
        CLUSTER_CREATE: "for a topic that the request would create",
        TOPIC_CREATE: "or this",
        CLUSTER_DESCRIBE: "for the operations that are allowed on the cluster",
    },
    "OffsetCommit": {GROUP_READ: "", TOPIC_READ: "of each topic"},
    "OffsetFetch": {GROUP_DESCRIBE: "of each group", TOPIC_DESCRIBE: "of each topic"},
    "FindCoordinator": {GROUP_DESCRIBE: "of a group", TRANSACTIONAL_ID_DESCRIBE: "of a transactional id"},
    "JoinGroup": {GROUP_READ: ""},
    "Heartbeat": {GROUP_READ: ""},
    "LeaveGroup": {GROUP_READ: ""},
    "SyncGroup": {GROUP_READ: ""},
    "DescribeGroups": {GROUP_DESCRIBE: "of each group"},
    "ListGroups": {CLUSTER_DESCRIBE: "for all groups", GROUP_DESCRIBE: "or this, of each group that is shown"},
    "SaslHandshake": {},
    "ApiVersions": {},
    "CreateTopics": {
        CLUSTER_CREATE: "",
        TOPIC_CREATE: "or this, of each topic",
        TOPIC_DESCRIBE_CONFIGS: "to be shown partitions and properties of the new topic",
    },
    "DeleteTopics": {
        CLUSTER_DELETE: "",
        TOPIC_DELETE: "or this, of each topic",
        TOPIC_DESCRIBE: "to be told the name of a topic that was named by id",
    },
    "DeleteRecords": {TOPIC_DELETE: "of each topic"},
    "InitProducerId": {
        TRANSACTIONAL_ID_WRITE: "with a transactional id",
        CLUSTER_IDEMPOTENT_WRITE: "without one",
        TOPIC_WRITE: "or this, of any topic",
    },
    "OffsetForLeaderEpoch": {CLUSTER_ACTION: "", TOPIC_DESCRIBE: "or this, of each topic"},
    "AddPartitionsToTxn": {
        TRANSACTIONAL_ID_WRITE: "before version 4",
        TOPIC_WRITE: "of each topic, before version 4",
        CLUSTER_ACTION: "from version 4 on, which brokers use",
    },
    "AddOffsetsToTxn": {TRANSACTIONAL_ID_WRITE: "", GROUP_READ: ""},
    "EndTxn": {TRANSACTIONAL_ID_WRITE: ""},
    "WriteTxnMarkers": {CLUSTER_ALTER: "", CLUSTER_ACTION: "or this"},
    "TxnOffsetCommit": {TRANSACTIONAL_ID_WRITE: "", GROUP_READ: "", TOPIC_READ: "of each topic"},
    "DescribeAcls": {CLUSTER_DESCRIBE: ""},
    "CreateAcls": {CLUSTER_ALTER: ""},
    "DeleteAcls": {CLUSTER_ALTER: ""},
    "DescribeConfigs": {
        TOPIC_DESCRIBE_CONFIGS: "of each topic",
        GROUP_DESCRIBE_CONFIGS: "of each group",
        CLUSTER_DESCRIBE_CONFIGS: "of brokers, loggers, client metrics",
    },
    "AlterConfigs": {
        TOPIC_ALTER_CONFIGS: "of each topic",
        GROUP_ALTER_CONFIGS: "of each group",
        CLUSTER_ALTER_CONFIGS: "of brokers, loggers, client metrics",
    },
    "DescribeLogDirs": {CLUSTER_DESCRIBE: ""},
    "SaslAuthenticate": {},
    "CreatePartitions": {TOPIC_ALTER: "of each topic"},
    "DeleteGroups": {GROUP_DELETE: "of each group"},
    "IncrementalAlterConfigs": {
        TOPIC_ALTER_CONFIGS: "of each topic",
        GROUP_ALTER_CONFIGS: "of each group",
        CLUSTER_ALTER_CONFIGS: "of brokers, loggers, client metrics",
    },
    "ListPartitionReassignments": {CLUSTER_DESCRIBE: ""},
    "OffsetDelete": {GROUP_DELETE: "", TOPIC_READ: "of each topic"},
    "DescribeClientQuotas": {CLUSTER_DESCRIBE_CONFIGS: ""},
    "AlterClientQuotas": {CLUSTER_ALTER_CONFIGS: ""},
    "DescribeUserScramCredentials": {CLUSTER_DESCRIBE: ""},
    "AlterUserScramCredentials": {CLUSTER_ALTER: ""},
    "DescribeCluster": {CLUSTER_DESCRIBE: "for the operations that are allowed on the cluster"},
    "DescribeProducers": {TOPIC_READ: "of each topic"},
    "DescribeTransactions": {
        TRANSACTIONAL_ID_DESCRIBE: "of each id",
        TOPIC_DESCRIBE: "of each topic that is shown",
    },
    "ListTransactions": {TRANSACTIONAL_ID_DESCRIBE: "of each id that is shown"},
    "ConsumerGroupHeartbeat": {
        GROUP_READ: "",
        TOPIC_DESCRIBE: "of each topic that the member names; topics without it match no regular expression",
    },
    "ConsumerGroupDescribe": {GROUP_DESCRIBE: "of each group", TOPIC_DESCRIBE: "of each topic of its members"},
    "ListConfigResources": {CLUSTER_DESCRIBE_CONFIGS: ""},
}
"""The rights of each request, with what each is needed for."""
