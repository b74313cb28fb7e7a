"""The fields of Produce and Fetch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eosfw_memory.client.transport.apis import Fields, milliseconds

WAIT = 30.0
SOME = 1 << 20
Named = Sequence[tuple[str, int, bytes]]


def producing(sent: Named, transactional_id: str | None = None, acks: int = -1) -> dict[str, Any]:
    """A request that appends to partitions of topics."""
    topics = [Fields(name=name, partition_data=[Fields(index=index, records=data)]) for name, index, data in sent]
    return {"transactional_id": transactional_id, "acks": acks, "timeout": milliseconds(WAIT), "topic_data": topics}


def position(index: int, offset: int, limit: int = SOME, leader_epoch: int = -1) -> Fields:
    """A partition to be fetched from an offset on."""
    return Fields(
        partition=index,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=limit,
    )


def fetching(topics: Sequence[Fields], **how: Any) -> dict[str, Any]:
    """A request for partitions of topics, without a session unless told otherwise."""
    plain = {"cluster_id": None, "replica_id": -1, "max_wait": milliseconds(0), "min_bytes": 0, "max_bytes": SOME}
    session = {"isolation_level": 0, "session_id": 0, "session_epoch": -1, "forgotten_topics_data": (), "rack_id": ""}
    return plain | session | {"topics": topics} | how
