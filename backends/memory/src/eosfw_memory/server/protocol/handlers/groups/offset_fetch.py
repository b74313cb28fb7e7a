"""OffsetFetch (9): return the offsets that a group has committed.

Behaviour
- A partition without a committed offset is -1 without an error, also if the group does not exist.
- With require_stable, offsets that an open transaction may change are UnstableOffsetCommit, and the client asks
  again (KIP-447, GRP-03).
- A request in the name of a member of a consumer group is refused with StaleMemberEpoch unless the epoch is the
  member's, with UnknownMemberId if there is no such member.

Version notes: topics null from 2 on means all, error_code from 2, leader epochs from 5, require_stable from 7, many
groups at once from 8, members of consumer groups with their epochs from 9 (KIP-848). 10 would name topics by id.
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.partition_answers import by_topic
from eosfw_memory.server.protocol.rights import GROUP_DESCRIBE, TOPIC_DESCRIBE

_BATCHED_VERSION = 8
_ERROR_CODE_VERSION = 2


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition of each group."""
    stable = getattr(request, "require_stable", False)
    if context.version >= _BATCHED_VERSION:
        groups = [
            {"group_id": group.group_id, **_group(broker, group, context, stable=stable)} for group in request.groups
        ]
        return {"groups": groups}
    return _group(broker, request, context, stable=stable)


def _group(broker: Broker, group: Any, context: Context, *, stable: bool) -> dict[str, object]:
    wanted = None
    if group.topics is not None:
        wanted = [TopicPartition(topic.name, index) for topic in group.topics for index in topic.partition_indexes]
    if not allows(broker, context, GROUP_DESCRIBE, group.group_id):
        # Before the version that has a code for the whole answer, each partition says it.
        denied = wanted if wanted is not None and context.version < _ERROR_CODE_VERSION else ()
        refused = ((where.topic, _partition(where.partition, GROUP_DESCRIBE.denied)) for where in denied)
        return {"topics": by_topic(refused), "error_code": GROUP_DESCRIBE.denied}
    try:
        broker.groups.offsets.check_fetch(
            group.group_id, getattr(group, "member_id", None), getattr(group, "member_epoch", -1)
        )
    except KafkaError as refused_member:
        return {"topics": (), "error_code": refused_member.code}
    asked = None if wanted is None else [each for each in wanted if allows(broker, context, TOPIC_DESCRIBE, each.topic)]
    found = broker.groups.offsets.fetch(group.group_id, asked, stable=stable)
    answers = [
        (where.topic, _partition(where.partition, each))
        for where, each in found.items()
        if wanted is not None or allows(broker, context, TOPIC_DESCRIBE, where.topic)
    ]
    # Kafka names what the client may not see behind the rest.
    unseen = [] if wanted is None or asked is None else [each for each in wanted if each not in found]
    answers += ((where.topic, _partition(where.partition, TOPIC_DESCRIBE.denied)) for where in unseen)
    return {"topics": by_topic(answers), "error_code": Code.NONE}


def _partition(index: int, found: Committed | Code) -> Answer:
    if isinstance(found, Code):
        return {"partition_index": index, "committed_offset": -1, "metadata": "", "error_code": found}
    return {
        "partition_index": index,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
        "error_code": Code.NONE,
    }
