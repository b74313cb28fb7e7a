"""OffsetFetch (9): tell a consumer with a group id, but without a group, where it left off.

Behaviour
- Nowhere: offsets cannot be committed here yet (OffsetCommit is not served), so every answer is -1. It is served so
  that `Consumer.assign` of an ordinary client, which always asks, starts by its `auto.offset.reset`.

Version notes: topics null from 2 means all, error_code from 2, many groups at once from 8.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer

_BATCHED_VERSION = 8


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer -1 for whatever is asked."""
    if context.version >= _BATCHED_VERSION:
        groups = [{"group_id": group.group_id, **_group(group)} for group in request.groups]
        return {"groups": groups}
    return _group(request)


def _group(group: Any) -> dict[str, object]:
    topics = [
        {"name": topic.name, "partitions": [_nothing(index) for index in topic.partition_indexes]}
        for topic in group.topics or ()
    ]
    return {"topics": topics, "error_code": Code.NONE}


def _nothing(index: int) -> Answer:
    return {"partition_index": index, "committed_offset": -1, "metadata": "", "error_code": Code.NONE}
