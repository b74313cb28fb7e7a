"""Name the requests this client makes, with the versions it speaks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final

from eosfw.ids import TopicPartition


@dataclass(frozen=True, slots=True, eq=False)
class Api:
    """One kind of request; the versions are those whose fields our requests fill."""

    key: int
    name: str
    min_version: int
    max_version: int


PRODUCE: Final = Api(0, "Produce", 3, 11)
PRODUCE_V2: Final = Api(0, "Produce", 12, 12)
"""From 12 on a batch itself adds its partition to the transaction (version 2 of transactions, KIP-890)."""
FETCH: Final = Api(1, "Fetch", 4, 12)
"""Up to 12: from 13 on topics go by id."""
LIST_OFFSETS: Final = Api(2, "ListOffsets", 2, 6)
METADATA: Final = Api(3, "Metadata", 4, 12)
OFFSET_FETCH: Final = Api(9, "OffsetFetch", 8, 8)
"""From 8 on it names groups, from 10 on topics go by id."""
FIND_COORDINATOR: Final = Api(10, "FindCoordinator", 1, 4)
API_VERSIONS: Final = Api(18, "ApiVersions", 0, 0)
FEATURES: Final = Api(18, "ApiVersions", 3, 3)
"""From 3 on it tells what the cluster has settled on."""
CREATE_TOPICS: Final = Api(19, "CreateTopics", 2, 7)
DELETE_TOPICS: Final = Api(20, "DeleteTopics", 1, 5)
"""Up to 5: from 6 on topics may go by id."""
INIT_PRODUCER_ID: Final = Api(22, "InitProducerId", 0, 4)
ADD_PARTITIONS: Final = Api(24, "AddPartitionsToTxn", 0, 3)
ADD_OFFSETS: Final = Api(25, "AddOffsetsToTxn", 0, 3)
END_TXN: Final = Api(26, "EndTxn", 0, 4)
END_TXN_V2: Final = Api(26, "EndTxn", 5, 5)
"""From 5 on each end raises the epoch, and the answer says with which producer to go on (KIP-890)."""
WRITE_TXN_MARKERS: Final = Api(27, "WriteTxnMarkers", 1, 1)
TXN_OFFSET_COMMIT: Final = Api(28, "TxnOffsetCommit", 3, 4)
"""From 3 on it tells who commits (KIP-447)."""
TXN_OFFSET_COMMIT_V2: Final = Api(28, "TxnOffsetCommit", 5, 5)
"""From 5 on it adds the group to the transaction itself (KIP-890)."""
DESCRIBE_CONFIGS: Final = Api(32, "DescribeConfigs", 1, 4)
DELETE_GROUPS: Final = Api(42, "DeleteGroups", 0, 2)
DESCRIBE_PRODUCERS: Final = Api(61, "DescribeProducers", 0, 0)
DESCRIBE_TRANSACTIONS: Final = Api(65, "DescribeTransactions", 0, 0)
LIST_TRANSACTIONS: Final = Api(66, "ListTransactions", 0, 1)
LIST_LONG_TRANSACTIONS: Final = Api(66, "ListTransactions", 1, 1)
"""From 1 on it can filter by duration; an older broker would ignore that it was asked to."""


class Fields(SimpleNamespace):
    """A request, or a part of one, by Kafka's field names: the union of all versions, as the broker's answers are."""

    def get(self, name: str, default: Any) -> Any:
        """A field by name, as a mapping has it."""
        return self.__dict__.get(name, default)


def group_by_topic(ones: Collection[TopicPartition], make: Callable[[str, list[int]], Fields]) -> list[Fields]:
    """Partitions as requests name them: topic by topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in ones:
        topics.setdefault(topic, []).append(partition)
    return [make(name, numbers) for name, numbers in topics.items()]


def milliseconds(seconds: float) -> timedelta:
    """A duration as requests carry it: whole milliseconds, none below 0."""
    return timedelta(milliseconds=max(0, int(seconds * 1000)))
