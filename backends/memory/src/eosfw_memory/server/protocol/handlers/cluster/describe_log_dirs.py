"""DescribeLogDirs (35): show where the logs are, the size of each, the free space (KIP-113).

Behaviour
- There is one directory; without a data directory it is called `(memory)`, of unknown size (-1).
- Topics null means every partition; partitions that do not exist are left out. One broker moves no replicas, so none
  lags and none is a future replica.
- A directory that failed is KafkaStorageError, without topics.

Version notes: 3 adds an error code for the whole answer, 4 the bytes of the file system. 5 is newer than Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the one directory."""
    if not allows(broker, context, CLUSTER_DESCRIBE):
        return {"error_code": CLUSTER_DESCRIBE.denied, "results": ()}
    place = broker.describe_log_dir()
    if place.failed:
        result: Answer = {"error_code": Code.KAFKA_STORAGE_ERROR, "log_dir": place.name, "topics": ()}
    else:
        result = {
            "error_code": Code.NONE,
            "log_dir": place.name,
            "topics": list(_topics(broker, request.topics)),
            "total_bytes": place.total_bytes,
            "usable_bytes": place.usable_bytes,
        }
    return {"error_code": Code.NONE, "results": [result]}


def _topics(broker: Broker, named: Any) -> Iterator[Answer]:
    wanted = None if named is None else {TopicPartition(one.topic, n) for one in named for n in one.partitions}
    for topic in broker.topics:
        found = [
            {"partition_index": n, "partition_size": each.log.size, "offset_lag": 0, "is_future_key": False}
            for n, each in enumerate(topic.partitions)
            if wanted is None or TopicPartition(topic.name, n) in wanted
        ]
        if found:
            yield {"name": topic.name, "partitions": found}
