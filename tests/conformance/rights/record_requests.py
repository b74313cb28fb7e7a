"""Requests that read and write records, with the rights of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.storage.records.codec import encode_batch

from ..calls import NOBODY, Caller
from ..record_fields import fetching, position, producing
from .asking import TIMEOUT, Ask, Place, Request, asked, metadata

_LATEST = -1


def _produce(*, transactional: bool) -> Ask:
    def ask(caller: Caller, place: Place, topic: str) -> Any:
        producer = place.producer if transactional else NOBODY
        now_ms, sequence = int(caller.runtime.wall() * 1000), 0 if transactional else -1
        batch = encode_batch(
            None, [b"v"], now_ms, producer=producer, base_sequence=sequence, transactional=transactional
        )
        return caller.ask(0, 12, **producing([(topic, 0, batch)], place.name if transactional else None))

    return ask


def _fetch(place: Place, topic: str, replica: int = -1) -> Mapping[str, Any]:
    return fetching([Fields(topic=topic, partitions=[position(0, 0)])], replica_id=replica)


def _fetch_by_id(caller: Caller, place: Place, topic: str) -> Any:
    [found] = place.admin.ask(3, 12, **metadata([Fields(name=topic, topic_id=None)]))["topics"]
    fields = dict(_fetch(place, topic))
    fields["topics"] = [Fields(topic_id=found["topic_id"], partitions=fields["topics"][0].partitions)]
    return caller.ask(1, 13, **fields)


REQUESTS: Mapping[str, Request] = {
    "Produce 12": Request(_produce(transactional=False), ("WRITE TOPIC",), absent=True),
    "Produce 12, transactional": Request(
        _produce(transactional=True), ("WRITE TRANSACTIONAL_ID", "WRITE TOPIC"), absent=True
    ),
    "Fetch 12": Request(asked(1, 12, _fetch), ("READ TOPIC",), absent=True),
    "Fetch 13, by id": Request(_fetch_by_id, ("READ TOPIC",)),
    "Fetch 12, of a replica": Request(
        asked(1, 12, lambda place, topic: _fetch(place, topic, replica=5)), ("CLUSTER_ACTION CLUSTER",), absent=True
    ),
    "ListOffsets 7": Request(
        asked(
            2,
            7,
            lambda _, topic: {
                "replica_id": -1,
                "isolation_level": 0,
                "topics": [
                    Fields(
                        name=topic, partitions=[Fields(partition_index=0, current_leader_epoch=-1, timestamp=_LATEST)]
                    )
                ],
            },
        ),
        ("DESCRIBE TOPIC",),
        absent=True,
    ),
    "DeleteRecords 2": Request(
        asked(
            21,
            2,
            lambda _, topic: {
                "topics": [Fields(name=topic, partitions=[Fields(partition_index=0, offset=0)])],
                **TIMEOUT,
            },
        ),
        ("DELETE TOPIC",),
        absent=True,
    ),
    "OffsetForLeaderEpoch 4": Request(
        asked(
            23,
            4,
            lambda _, topic: {
                "replica_id": -1,
                "topics": [
                    Fields(topic=topic, partitions=[Fields(partition=0, current_leader_epoch=-1, leader_epoch=0)])
                ],
            },
        ),
        ("DESCRIBE TOPIC",),
        absent=True,
    ),
}
