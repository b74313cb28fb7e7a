"""Requests about topics and configurations, with the rights of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code

from ..calls import WAIT, Caller
from .asking import TIMEOUT, Place, Request, asked, codes, metadata, named, topic_of


def _own_topics(answer: Any, place: Place) -> str:
    """The topics of this cell that are listed."""
    return "listed" if place.topic in [topic["name"] for topic in answer["topics"]] else "not listed"


def _operations(answer: Any, place: Place) -> str:
    [topic] = answer["topics"]
    return f"{codes(answer)} {topic['topic_authorized_operations']} {answer['cluster_authorized_operations']}"


def _create(place: Place, topic: str) -> Mapping[str, Any]:
    wanted = Fields(name=f"{topic}-new", num_partitions=1, replication_factor=1, assignments=(), configs=())
    return {"topics": [wanted], "timeout": milliseconds(WAIT), "validate_only": True}


def _created(answer: Any, place: Place) -> str:
    [topic] = answer["topics"]
    shown = topic["num_partitions"], Code(topic.get("topic_config_error_code", 0)).name, bool(topic["configs"])
    return f"{Code(topic['error_code']).name} partitions {shown[0]}, configs {shown[1]} {shown[2]}"


def _delete_by_id(caller: Caller, place: Place, topic: str) -> Any:
    [found] = place.admin.ask(3, 12, **metadata([Fields(name=topic, topic_id=None)]))["topics"]
    wanted = [Fields(name=None, topic_id=found["topic_id"])]
    return caller.ask(20, 6, topics=wanted, timeout=milliseconds(WAIT))


def _metadata_by_id(caller: Caller, place: Place, topic: str) -> Any:
    [found] = place.admin.ask(3, 12, **metadata([Fields(name=topic, topic_id=None)]))["topics"]
    return caller.ask(3, 12, **metadata([Fields(name=None, topic_id=found["topic_id"])]))


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


REQUESTS: Mapping[str, Request] = {
    "Metadata 9": Request(
        asked(3, 9, lambda _, topic: metadata([Fields(name=topic)])), ("DESCRIBE TOPIC",), absent=True
    ),
    "Metadata 9, all": Request(asked(3, 9, lambda *_: metadata(None)), ("DESCRIBE TOPIC",), _own_topics),
    "Metadata 9, operations": Request(
        asked(3, 9, lambda _, topic: metadata([Fields(name=topic)], operations=True)),
        ("WRITE TOPIC", "ALTER_CONFIGS TOPIC", "DESCRIBE CLUSTER", "IDEMPOTENT_WRITE CLUSTER"),
        _operations,
    ),
    "Metadata 12, by id": Request(_metadata_by_id, ("DESCRIBE TOPIC",), named),
    "CreateTopics 7": Request(asked(19, 7, _create), ("CREATE TOPIC", "DESCRIBE_CONFIGS TOPIC"), _created),
    "CreateTopics 7, by the cluster": Request(asked(19, 7, _create), ("CREATE CLUSTER",), _created),
    "DeleteTopics 5": Request(
        asked(20, 5, lambda _, topic: {"topic_names": [topic], **TIMEOUT}), ("DELETE TOPIC",), absent=True
    ),
    "DeleteTopics 5, describe only": Request(
        asked(20, 5, lambda _, topic: {"topic_names": [topic], **TIMEOUT}), ("DESCRIBE TOPIC",), absent=True
    ),
    "DeleteTopics 6, by id": Request(_delete_by_id, ("DELETE TOPIC",), named),
    "DeleteTopics 6, by id, describe only": Request(_delete_by_id, ("DESCRIBE TOPIC",), named),
    "DescribeConfigs 4, topic": Request(asked(32, 4, _resource(2, topic_of)), ("DESCRIBE_CONFIGS TOPIC",), absent=True),
    "DescribeConfigs 4, broker": Request(asked(32, 4, _resource(4, lambda *_: "1")), ("DESCRIBE_CONFIGS CLUSTER",)),
    "DescribeConfigs 4, group": Request(
        asked(32, 4, _resource(32, lambda place, _: place.group)), ("DESCRIBE_CONFIGS GROUP",)
    ),
    "ListConfigResources 1": Request(asked(74, 1, lambda *_: {"resource_types": (32,)}), ("DESCRIBE_CONFIGS CLUSTER",)),
    "AlterConfigs 2, topic": Request(
        asked(33, 2, _altered(2, topic_of, "retention.ms")), ("ALTER_CONFIGS TOPIC",), absent=True
    ),
    "IncrementalAlterConfigs 1, topic": Request(
        asked(44, 1, _altered(2, topic_of, "retention.ms")), ("ALTER_CONFIGS TOPIC",), absent=True
    ),
    **{
        f"{name}, {kind}": Request(asked(key, version, _altered(number, named, config)), (f"ALTER_CONFIGS {right}",))
        for name, key, version in (("AlterConfigs 2", 33, 2), ("IncrementalAlterConfigs 1", 44, 1))
        for kind, number, named, config, right in (
            ("broker", 4, lambda *_: "1", "log.cleaner.backoff.ms", "CLUSTER"),
            ("group", 32, lambda place, _: place.group, "consumer.session.timeout.ms", "GROUP"),
        )
    },
    "CreatePartitions 3": Request(
        asked(
            37,
            3,
            lambda _, topic: {
                "topics": [Fields(name=topic, count=2, assignments=None)],
                "validate_only": True,
                **TIMEOUT,
            },
        ),
        ("ALTER TOPIC",),
        absent=True,
    ),
}
