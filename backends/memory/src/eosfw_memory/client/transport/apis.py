"""The requests that this client makes, with the versions that it speaks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final

from eosfw.ids import TopicPartition


@dataclass(frozen=True, slots=True, eq=False)
class Api:
    """One kind of request, with the versions whose fields this client fills."""

    key: int
    name: str
    min_version: int
    max_version: int


PRODUCE: Final = Api(0, "Produce", 3, 11)
PRODUCE_V2: Final = Api(0, "Produce", 12, 12)
"""From 12 on a batch adds its partition to the transaction by itself (version 2 of transactions, KIP-890)."""
FETCH: Final = Api(1, "Fetch", 4, 12)
"""From 13 on it names topics by id."""
LIST_OFFSETS: Final = Api(2, "ListOffsets", 2, 6)
METADATA: Final = Api(3, "Metadata", 4, 12)
OFFSET_COMMIT: Final = Api(8, "OffsetCommit", 5, 9)
"""Before 5 it has a retention time, from 10 on it names topics by id."""
OFFSET_FETCH: Final = Api(9, "OffsetFetch", 8, 8)
"""From 8 on it names many groups, from 10 on it names topics by id."""
FIND_COORDINATOR: Final = Api(10, "FindCoordinator", 1, 4)
JOIN_GROUP: Final = Api(11, "JoinGroup", 4, 9)
"""From 4 on a new member first gets its id (KIP-394)."""
HEARTBEAT: Final = Api(12, "Heartbeat", 0, 4)
LEAVE_GROUP: Final = Api(13, "LeaveGroup", 3, 5)
"""From 3 on it names many members."""
SYNC_GROUP: Final = Api(14, "SyncGroup", 0, 5)
DESCRIBE_GROUPS: Final = Api(15, "DescribeGroups", 0, 6)
API_VERSIONS: Final = Api(18, "ApiVersions", 0, 0)
FEATURES: Final = Api(18, "ApiVersions", 3, 3)
"""From 3 on its answer has the features that the cluster has finalized."""
CREATE_TOPICS: Final = Api(19, "CreateTopics", 2, 7)
DELETE_TOPICS: Final = Api(20, "DeleteTopics", 1, 5)
"""From 6 on it may name topics by id."""
INIT_PRODUCER_ID: Final = Api(22, "InitProducerId", 0, 4)
ADD_PARTITIONS: Final = Api(24, "AddPartitionsToTxn", 0, 3)
ADD_OFFSETS: Final = Api(25, "AddOffsetsToTxn", 0, 3)
END_TXN: Final = Api(26, "EndTxn", 0, 4)
END_TXN_V2: Final = Api(26, "EndTxn", 5, 5)
"""From 5 on each end raises the epoch, and the answer has the producer of the next transaction (KIP-890)."""
WRITE_TXN_MARKERS: Final = Api(27, "WriteTxnMarkers", 1, 1)
TXN_OFFSET_COMMIT: Final = Api(28, "TxnOffsetCommit", 3, 4)
"""From 3 on it has the member and generation of the committer (KIP-447)."""
TXN_OFFSET_COMMIT_V2: Final = Api(28, "TxnOffsetCommit", 5, 5)
"""From 5 on it adds the group to the transaction itself (KIP-890)."""
DESCRIBE_CONFIGS: Final = Api(32, "DescribeConfigs", 1, 4)
DELETE_GROUPS: Final = Api(42, "DeleteGroups", 0, 2)
DESCRIBE_PRODUCERS: Final = Api(61, "DescribeProducers", 0, 0)
DESCRIBE_TRANSACTIONS: Final = Api(65, "DescribeTransactions", 0, 0)
LIST_TRANSACTIONS: Final = Api(66, "ListTransactions", 0, 1)
LIST_LONG_TRANSACTIONS: Final = Api(66, "ListTransactions", 1, 1)
"""From 1 on it can filter by duration; an older broker would ignore the filter."""


class Fields(SimpleNamespace):
    """A request, or a part of one, with the fields of all versions by Kafka's names."""

    def get(self, name: str, default: Any) -> Any:
        """A field by name, or the default, as a mapping gives it."""
        return self.__dict__.get(name, default)


def group_by_topic(ones: Collection[TopicPartition], make: Callable[[str, list[int]], Fields]) -> list[Fields]:
    """Partitions grouped by topic, as requests name them."""
    topics: dict[str, list[int]] = {}
    for topic, partition in ones:
        topics.setdefault(topic, []).append(partition)
    return [make(name, numbers) for name, numbers in topics.items()]


def milliseconds(seconds: float) -> timedelta:
    """A duration as requests carry it: whole milliseconds, not negative."""
    return timedelta(milliseconds=max(0, int(seconds * 1000)))
