"""List the requests that are asked with and without rights, each with the least rights that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.codec import encode_batch

from ..calls import NOBODY, WAIT, Caller, offsets_of

_LATEST = -1


@dataclass(frozen=True)
class Place:
    """What one cell has for itself: a topic, a name that no topic has, a group, a transactional id."""

    principal: str
    admin: Caller

    @cached_property
    def topic(self) -> str:
        return f"{self.principal}-topic"

    @cached_property
    def group(self) -> str:
        return f"{self.principal}-group"

    @cached_property
    def name(self) -> str:
        return f"{self.principal}-id"

    @cached_property
    def producer(self) -> ProducerIdAndEpoch:
        """Whoever holds the id, as the administrator took it."""
        return self.admin.init(self.name).producer


Ask = Callable[[Caller, Place, str], Any]
"""Sends a request about a topic; gives the answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of one version."""

    ask: Ask
    needs: Sequence[str]
    """Operation and resource type, as in `READ TOPIC`, of all that it needs at once."""
    shown: Callable[[Any, Place], str] = lambda answer, _: codes(answer)
    absent: bool = False
    """Whether it is also asked about a topic that does not exist."""


def codes(answer: Any) -> str:
    """The error codes of an answer, the outer ones first."""
    return " ".join(Code(code).name for code in _codes(answer))


def _codes(answer: Any) -> Iterator[int]:
    if isinstance(answer, Mapping):
        yield from (value for name, value in answer.items() if name.endswith("error_code"))
        for value in answer.values():
            yield from _codes(value)
    elif isinstance(answer, list | tuple):
        for each in answer:
            yield from _codes(each)


def _asked(key: int, version: int, fields: Callable[[Place, str], Mapping[str, Any]]) -> Ask:
    return lambda caller, place, topic: caller.ask(key, version, **fields(place, topic))


def _produce(*, transactional: bool) -> Ask:
    def ask(caller: Caller, place: Place, topic: str) -> Any:
        producer = place.producer if transactional else NOBODY
        now_ms, sequence = int(caller.runtime.wall() * 1000), 0 if transactional else -1
        batch = encode_batch(
            None, [b"v"], now_ms, producer=producer, base_sequence=sequence, transactional=transactional
        )
        return caller.ask(
            0,
            12,
            transactional_id=place.name if transactional else None,
            acks=-1,
            timeout=milliseconds(WAIT),
            topic_data=[Fields(name=topic, partition_data=[Fields(index=0, records=batch)])],
        )

    return ask


def _fetch(place: Place, topic: str, replica: int = -1) -> Mapping[str, Any]:
    partition = Fields(
        partition=0,
        current_leader_epoch=-1,
        fetch_offset=0,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1000,
    )
    return {
        "replica_id": replica,
        "max_wait": milliseconds(0),
        "min_bytes": 0,
        "max_bytes": 1000,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [Fields(topic=topic, partitions=[partition])],
        "forgotten_topics_data": (),
        "rack_id": "",
    }


def _metadata(topics: list[Fields] | None, *, create: bool = False, operations: bool = False) -> Mapping[str, Any]:
    return {
        "topics": topics,
        "allow_auto_topic_creation": create,
        "include_topic_authorized_operations": operations,
        "include_cluster_authorized_operations": operations,
    }


def _own_topics(answer: Any, place: Place) -> str:
    """The topics of this cell that are listed."""
    return "listed" if place.topic in [topic["name"] for topic in answer["topics"]] else "not listed"


def _operations(answer: Any, place: Place) -> str:
    [topic] = answer["topics"]
    return f"{codes(answer)} {topic['topic_authorized_operations']} {answer['cluster_authorized_operations']}"


def _member(place: Place, **more: Any) -> Mapping[str, Any]:
    return {"group_id": place.group, "member_id": "", "generation_id": 1, "group_instance_id": None, **more}


_JOIN = {
    "session_timeout": milliseconds(10),
    "rebalance_timeout": milliseconds(10),
    "protocol_type": "consumer",
    "protocols": [Fields(name="range", metadata=b"")],
}


def _add_partitions(place: Place, topic: str) -> Mapping[str, Any]:
    return {
        "v3_and_below_transactional_id": place.name,
        "v3_and_below_producer_id": place.producer.producer_id,
        "v3_and_below_producer_epoch": place.producer.epoch,
        "v3_and_below_topics": [Fields(name=topic, partitions=[0])],
    }


def _transaction(place: Place, **more: Any) -> Mapping[str, Any]:
    producer = place.producer
    return {
        "transactional_id": place.name,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        **more,
    }


def _commit_in_transaction(caller: Caller, place: Place, topic: str) -> Any:
    place.admin.add_offsets(place.name, place.producer, place.group)
    fields = _transaction(place, **_member(place, generation_id=-1), topics=offsets_of_topic(topic))
    return caller.ask(28, 3, **fields)


def _described_transaction(caller: Caller, place: Place, topic: str) -> Any:
    place.admin.ask(24, 3, **_add_partitions(place, topic))
    return caller.ask(65, 0, transactional_ids=[place.name])


def _transaction_shown(answer: Any, place: Place) -> str:
    [found] = answer["transaction_states"]
    return f"{codes(answer)} {found['transaction_state']} {len(found['topics'])} topics"


def _listed_transactions(caller: Caller, place: Place, topic: str) -> Any:
    assert place.producer
    return caller.ask(66, 1, state_filters=(), producer_id_filters=(), duration_filter=-1)


def _ids_shown(answer: Any, place: Place) -> str:
    found = [each["transactional_id"] for each in answer["transaction_states"]]
    return f"{codes(answer)} {'listed' if place.name in found else 'not listed'}"


def _committed(place: Place) -> None:
    """Let the group have an offset."""
    place.admin.ask(8, 8, **_commit(place, place.topic))


def _commit(place: Place, topic: str) -> Mapping[str, Any]:
    return {
        "group_id": place.group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": offsets_of_topic(topic),
    }


def offsets_of_topic(topic: str) -> list[Fields]:
    """Offset 1 of partition 0."""
    return offsets_of(TopicPartition(topic, 0), 1)


def _of_a_group(key: int, version: int, fields: Callable[[Place, str], Mapping[str, Any]]) -> Ask:
    def ask(caller: Caller, place: Place, topic: str) -> Any:
        _committed(place)
        return caller.ask(key, version, **fields(place, topic))

    return ask


def _offset_fetch(place: Place, topic: str) -> Mapping[str, Any]:
    wanted = [Fields(name=topic, partition_indexes=[0])]
    return {"groups": [Fields(group_id=place.group, topics=wanted)], "require_stable": False}


def _all_offsets(place: Place, topic: str) -> Mapping[str, Any]:
    return {"groups": [Fields(group_id=place.group, topics=None)], "require_stable": False}


def _offsets_shown(answer: Any, place: Place) -> str:
    [group] = answer["groups"]
    return f"{codes(answer)}, {len(group['topics'])} topics"


def _groups_shown(answer: Any, place: Place) -> str:
    found = [each["group_id"] for each in answer["groups"]]
    return f"{codes(answer)} {'listed' if place.group in found else 'not listed'}"


def _group_operations(answer: Any, place: Place) -> str:
    [found] = answer["groups"]
    return f"{codes(answer)} {found['authorized_operations']}"


def _create(place: Place, topic: str) -> Mapping[str, Any]:
    wanted = Fields(name=f"{topic}-new", num_partitions=1, replication_factor=1, assignments=(), configs=())
    return {"topics": [wanted], "timeout": milliseconds(WAIT), "validate_only": True}


def _created(answer: Any, place: Place) -> str:
    [topic] = answer["topics"]
    shown = topic["num_partitions"], Code(topic.get("topic_config_error_code", 0)).name, bool(topic["configs"])
    return f"{Code(topic['error_code']).name} partitions {shown[0]}, configs {shown[1]} {shown[2]}"


def _delete_by_id(caller: Caller, place: Place, topic: str) -> Any:
    [found] = place.admin.ask(3, 12, **_metadata([Fields(name=topic, topic_id=None)]))["topics"]
    wanted = [Fields(name=None, topic_id=found["topic_id"])]
    return caller.ask(20, 6, topics=wanted, timeout=milliseconds(WAIT))


def _metadata_by_id(caller: Caller, place: Place, topic: str) -> Any:
    [found] = place.admin.ask(3, 12, **_metadata([Fields(name=topic, topic_id=None)]))["topics"]
    return caller.ask(3, 12, **_metadata([Fields(name=None, topic_id=found["topic_id"])]))


def _fetch_by_id(caller: Caller, place: Place, topic: str) -> Any:
    [found] = place.admin.ask(3, 12, **_metadata([Fields(name=topic, topic_id=None)]))["topics"]
    fields = dict(_fetch(place, topic))
    fields["topics"] = [Fields(topic_id=found["topic_id"], partitions=fields["topics"][0].partitions)]
    return caller.ask(1, 13, **fields)


def _named(answer: Any, place: Place) -> str:
    [found] = answer.get("responses") or answer["topics"]
    return f"{codes(answer)} {'named' if found['name'] else 'not named'}"


def _resource(kind: int, name: Callable[[Place, str], str]) -> Callable[[Place, str], Mapping[str, Any]]:
    return lambda place, topic: {
        "resources": [Fields(resource_type=kind, resource_name=name(place, topic), configuration_keys=())],
        "include_synonyms": False,
        "include_documentation": False,
    }


def _altered(kind: int, name: Callable[[Place, str], str], key: str) -> Callable[[Place, str], Mapping[str, Any]]:
    def fields(place: Place, topic: str) -> Mapping[str, Any]:
        config = Fields(name=key, value="50000", config_operation=0)
        resource = Fields(resource_type=kind, resource_name=name(place, topic), configs=[config])
        return {"resources": [resource], "validate_only": True}

    return fields


def _acl(place: Place) -> Fields:
    return Fields(
        resource_type=2,
        resource_name=place.topic,
        resource_pattern_type=3,
        principal="User:nobody",
        host="*",
        operation=3,
        permission_type=3,
    )


def _filter(place: Place, topic: str) -> Mapping[str, Any]:
    return {
        "resource_type_filter": 2,
        "resource_name_filter": f"{place.topic}-none",
        "pattern_type_filter": 3,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }


def _topic_of(place: Place, topic: str) -> str:
    return topic


def _marker(place: Place, topic: str) -> Mapping[str, Any]:
    marker = Fields(
        producer_id=7,
        producer_epoch=0,
        transaction_result=False,
        topics=[Fields(name=topic, partition_indexes=[0])],
        coordinator_epoch=0,
    )
    return {"markers": [marker]}


def _coordinator(kind: int, key: Callable[[Place], str]) -> Ask:
    return _asked(10, 4, lambda place, _: {"key_type": kind, "coordinator_keys": [key(place)]})


_BY_NAME, _LOG_DIRS = {"timeout": milliseconds(WAIT)}, {"topics": ()}

REQUESTS: Mapping[str, Request] = {
    "Produce 12": Request(_produce(transactional=False), ("WRITE TOPIC",), absent=True),
    "Produce 12, transactional": Request(
        _produce(transactional=True), ("WRITE TRANSACTIONAL_ID", "WRITE TOPIC"), absent=True
    ),
    "Fetch 12": Request(_asked(1, 12, _fetch), ("READ TOPIC",), absent=True),
    "Fetch 13, by id": Request(_fetch_by_id, ("READ TOPIC",)),
    "Fetch 12, of a replica": Request(
        _asked(1, 12, lambda place, topic: _fetch(place, topic, replica=5)), ("CLUSTER_ACTION CLUSTER",), absent=True
    ),
    "ListOffsets 7": Request(
        _asked(
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
    "Metadata 9": Request(
        _asked(3, 9, lambda _, topic: _metadata([Fields(name=topic)])), ("DESCRIBE TOPIC",), absent=True
    ),
    "Metadata 9, all": Request(_asked(3, 9, lambda *_: _metadata(None)), ("DESCRIBE TOPIC",), _own_topics),
    "Metadata 9, operations": Request(
        _asked(3, 9, lambda _, topic: _metadata([Fields(name=topic)], operations=True)),
        ("WRITE TOPIC", "ALTER_CONFIGS TOPIC", "DESCRIBE CLUSTER", "IDEMPOTENT_WRITE CLUSTER"),
        _operations,
    ),
    "Metadata 12, by id": Request(_metadata_by_id, ("DESCRIBE TOPIC",), _named),
    "OffsetCommit 8": Request(_asked(8, 8, _commit), ("READ GROUP", "READ TOPIC"), absent=True),
    "OffsetFetch 8": Request(
        _of_a_group(9, 8, _offset_fetch), ("DESCRIBE GROUP", "DESCRIBE TOPIC"), _offsets_shown, absent=True
    ),
    "OffsetFetch 8, all": Request(
        _of_a_group(9, 8, _all_offsets), ("DESCRIBE GROUP", "DESCRIBE TOPIC"), _offsets_shown
    ),
    "FindCoordinator 4, group": Request(_coordinator(0, lambda place: place.group), ("DESCRIBE GROUP",)),
    "FindCoordinator 4, id": Request(_coordinator(1, lambda place: place.name), ("DESCRIBE TRANSACTIONAL_ID",)),
    "JoinGroup 7": Request(_asked(11, 7, lambda place, _: _member(place, **_JOIN)), ("READ GROUP",)),
    "Heartbeat 4": Request(_asked(12, 4, lambda place, _: _member(place)), ("READ GROUP",)),
    "LeaveGroup 4": Request(
        _asked(
            13,
            4,
            lambda place, _: {
                "group_id": place.group,
                "members": [Fields(member_id="nobody", group_instance_id=None)],
            },
        ),
        ("READ GROUP",),
    ),
    "SyncGroup 5": Request(
        _asked(
            14,
            5,
            lambda place, _: _member(place, protocol_type="consumer", protocol_name="range", assignments=()),
        ),
        ("READ GROUP",),
    ),
    "DescribeGroups 5": Request(
        _asked(15, 5, lambda place, _: {"groups": [place.group], "include_authorized_operations": False}),
        ("DESCRIBE GROUP",),
    ),
    "DescribeGroups 5, operations": Request(
        _of_a_group(15, 5, lambda place, _: {"groups": [place.group], "include_authorized_operations": True}),
        ("READ GROUP", "ALTER_CONFIGS GROUP"),
        _group_operations,
    ),
    "ListGroups 4": Request(_of_a_group(16, 4, lambda *_: {"states_filter": ()}), ("DESCRIBE GROUP",), _groups_shown),
    "ListGroups 4, by the cluster": Request(
        _of_a_group(16, 4, lambda *_: {"states_filter": ()}), ("DESCRIBE CLUSTER",), _groups_shown
    ),
    "CreateTopics 7": Request(_asked(19, 7, _create), ("CREATE TOPIC", "DESCRIBE_CONFIGS TOPIC"), _created),
    "CreateTopics 7, by the cluster": Request(_asked(19, 7, _create), ("CREATE CLUSTER",), _created),
    "DeleteTopics 5": Request(
        _asked(20, 5, lambda _, topic: {"topic_names": [topic], **_BY_NAME}), ("DELETE TOPIC",), absent=True
    ),
    "DeleteTopics 5, describe only": Request(
        _asked(20, 5, lambda _, topic: {"topic_names": [topic], **_BY_NAME}), ("DESCRIBE TOPIC",), absent=True
    ),
    "DeleteTopics 6, by id": Request(_delete_by_id, ("DELETE TOPIC",), _named),
    "DeleteTopics 6, by id, describe only": Request(_delete_by_id, ("DESCRIBE TOPIC",), _named),
    "DeleteRecords 2": Request(
        _asked(
            21,
            2,
            lambda _, topic: {
                "topics": [Fields(name=topic, partitions=[Fields(partition_index=0, offset=0)])],
                **_BY_NAME,
            },
        ),
        ("DELETE TOPIC",),
        absent=True,
    ),
    "InitProducerId 5": Request(
        _asked(
            22,
            5,
            lambda place, _: {
                "transactional_id": place.name,
                "transaction_timeout": milliseconds(60),
                "producer_id": -1,
                "producer_epoch": -1,
            },
        ),
        ("WRITE TRANSACTIONAL_ID",),
    ),
    "InitProducerId 5, no id": Request(
        _asked(
            22,
            5,
            lambda *_: {
                "transactional_id": None,
                "transaction_timeout": milliseconds(60),
                "producer_id": -1,
                "producer_epoch": -1,
            },
        ),
        ("WRITE TOPIC",),
    ),
    "InitProducerId 5, no id, by the cluster": Request(
        _asked(
            22,
            5,
            lambda *_: {
                "transactional_id": None,
                "transaction_timeout": milliseconds(60),
                "producer_id": -1,
                "producer_epoch": -1,
            },
        ),
        ("IDEMPOTENT_WRITE CLUSTER",),
    ),
    "OffsetForLeaderEpoch 4": Request(
        _asked(
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
    "AddPartitionsToTxn 3": Request(
        _asked(24, 3, _add_partitions), ("WRITE TRANSACTIONAL_ID", "WRITE TOPIC"), absent=True
    ),
    "AddPartitionsToTxn 5": Request(
        _asked(
            24,
            5,
            lambda place, topic: {
                "transactions": [
                    Fields(
                        **_transaction(place, verify_only=False, topics=[Fields(name=topic, partitions=[0])]),
                    )
                ]
            },
        ),
        ("CLUSTER_ACTION CLUSTER",),
    ),
    "AddOffsetsToTxn 4": Request(
        _asked(25, 4, lambda place, _: _transaction(place, group_id=place.group)),
        ("WRITE TRANSACTIONAL_ID", "READ GROUP"),
    ),
    "EndTxn 4": Request(
        _asked(26, 4, lambda place, _: _transaction(place, committed=False)), ("WRITE TRANSACTIONAL_ID",)
    ),
    "WriteTxnMarkers 1": Request(_asked(27, 1, _marker), ("CLUSTER_ACTION CLUSTER",), absent=True),
    "WriteTxnMarkers 1, alter": Request(_asked(27, 1, _marker), ("ALTER CLUSTER",)),
    "TxnOffsetCommit 3": Request(
        _commit_in_transaction, ("WRITE TRANSACTIONAL_ID", "READ GROUP", "READ TOPIC"), absent=True
    ),
    "DescribeAcls 3": Request(_asked(29, 3, _filter), ("DESCRIBE CLUSTER",)),
    "CreateAcls 3": Request(_asked(30, 3, lambda place, _: {"creations": [_acl(place)]}), ("ALTER CLUSTER",)),
    "DeleteAcls 3": Request(
        _asked(31, 3, lambda place, topic: {"filters": [Fields(**_filter(place, topic))]}), ("ALTER CLUSTER",)
    ),
    "DescribeConfigs 4, topic": Request(
        _asked(32, 4, _resource(2, _topic_of)), ("DESCRIBE_CONFIGS TOPIC",), absent=True
    ),
    "DescribeConfigs 4, broker": Request(_asked(32, 4, _resource(4, lambda *_: "1")), ("DESCRIBE_CONFIGS CLUSTER",)),
    "DescribeConfigs 4, group": Request(
        _asked(32, 4, _resource(32, lambda place, _: place.group)), ("DESCRIBE_CONFIGS GROUP",)
    ),
    "AlterConfigs 2, topic": Request(
        _asked(33, 2, _altered(2, _topic_of, "retention.ms")), ("ALTER_CONFIGS TOPIC",), absent=True
    ),
    "IncrementalAlterConfigs 1, topic": Request(
        _asked(44, 1, _altered(2, _topic_of, "retention.ms")), ("ALTER_CONFIGS TOPIC",), absent=True
    ),
    **{
        f"{name}, {kind}": Request(_asked(key, version, _altered(number, named, config)), (f"ALTER_CONFIGS {right}",))
        for name, key, version in (("AlterConfigs 2", 33, 2), ("IncrementalAlterConfigs 1", 44, 1))
        for kind, number, named, config, right in (
            ("broker", 4, lambda *_: "1", "log.cleaner.backoff.ms", "CLUSTER"),
            ("group", 32, lambda place, _: place.group, "consumer.session.timeout.ms", "GROUP"),
        )
    },
    "DescribeLogDirs 4": Request(
        _asked(35, 4, lambda _, topic: {"topics": [Fields(topic=topic, partitions=[0])]}), ("DESCRIBE CLUSTER",)
    ),
    "CreatePartitions 3": Request(
        _asked(
            37,
            3,
            lambda _, topic: {
                "topics": [Fields(name=topic, count=2, assignments=None)],
                "validate_only": True,
                **_BY_NAME,
            },
        ),
        ("ALTER TOPIC",),
        absent=True,
    ),
    "DeleteGroups 2": Request(_of_a_group(42, 2, lambda place, _: {"groups_names": [place.group]}), ("DELETE GROUP",)),
    "ListPartitionReassignments 0": Request(
        _asked(46, 0, lambda *_: {"topics": None, **_BY_NAME}), ("DESCRIBE CLUSTER",)
    ),
    "OffsetDelete 0": Request(
        _of_a_group(
            47,
            0,
            lambda place, topic: {
                "group_id": place.group,
                "topics": [Fields(name=topic, partitions=[Fields(partition_index=0)])],
            },
        ),
        ("DELETE GROUP", "READ TOPIC"),
        absent=True,
    ),
    "DescribeCluster 1": Request(
        _asked(60, 1, lambda *_: {"include_cluster_authorized_operations": True, "endpoint_type": 1}),
        ("DESCRIBE CLUSTER", "CREATE CLUSTER"),
        lambda answer, _: f"{codes(answer)} {answer['cluster_authorized_operations']}",
    ),
    "DescribeProducers 0": Request(
        _asked(61, 0, lambda _, topic: {"topics": [Fields(name=topic, partition_indexes=[0])]}),
        ("READ TOPIC",),
        absent=True,
    ),
    "DescribeTransactions 0": Request(
        _described_transaction, ("DESCRIBE TRANSACTIONAL_ID", "DESCRIBE TOPIC"), _transaction_shown
    ),
    "ListTransactions 1": Request(_listed_transactions, ("DESCRIBE TRANSACTIONAL_ID",), _ids_shown),
}
