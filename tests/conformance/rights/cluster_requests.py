"""Requests about the cluster and its access rules, with the rights of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eosfw_memory.client.transport.apis import Fields

from .asking import TIMEOUT, Ask, Place, Request, asked, codes


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


def _no_quotas(place: Place) -> Fields:
    return Fields(entity=[Fields(entity_type="user", entity_name=place.principal)], ops=())


def _no_credential(place: Place) -> Fields:
    return Fields(name=place.principal, mechanism=1)


def _coordinator(kind: int, key: Callable[[Place], str]) -> Ask:
    return asked(10, 4, lambda place, _: {"key_type": kind, "coordinator_keys": [key(place)]})


REQUESTS: Mapping[str, Request] = {
    "FindCoordinator 4, group": Request(_coordinator(0, lambda place: place.group), ("DESCRIBE GROUP",)),
    "FindCoordinator 4, id": Request(_coordinator(1, lambda place: place.name), ("DESCRIBE TRANSACTIONAL_ID",)),
    "DescribeAcls 3": Request(asked(29, 3, _filter), ("DESCRIBE CLUSTER",)),
    "CreateAcls 3": Request(asked(30, 3, lambda place, _: {"creations": [_acl(place)]}), ("ALTER CLUSTER",)),
    "DeleteAcls 3": Request(
        asked(31, 3, lambda place, topic: {"filters": [Fields(**_filter(place, topic))]}), ("ALTER CLUSTER",)
    ),
    "DescribeLogDirs 4": Request(
        asked(35, 4, lambda _, topic: {"topics": [Fields(topic=topic, partitions=[0])]}), ("DESCRIBE CLUSTER",)
    ),
    "ListPartitionReassignments 0": Request(
        asked(46, 0, lambda *_: {"topics": None, **TIMEOUT}), ("DESCRIBE CLUSTER",)
    ),
    "DescribeClientQuotas 1": Request(
        asked(48, 1, lambda *_: {"components": (), "strict": True}), ("DESCRIBE_CONFIGS CLUSTER",)
    ),
    "AlterClientQuotas 1": Request(
        asked(49, 1, lambda place, _: {"entries": [_no_quotas(place)], "validate_only": True}),
        ("ALTER_CONFIGS CLUSTER",),
    ),
    "DescribeUserScramCredentials 0": Request(
        asked(50, 0, lambda place, _: {"users": [Fields(name=place.principal)]}), ("DESCRIBE CLUSTER",)
    ),
    "AlterUserScramCredentials 0": Request(
        asked(51, 0, lambda place, _: {"deletions": [_no_credential(place)], "upsertions": ()}), ("ALTER CLUSTER",)
    ),
    "DescribeCluster 1": Request(
        asked(60, 1, lambda *_: {"include_cluster_authorized_operations": True, "endpoint_type": 1}),
        ("DESCRIBE CLUSTER", "CREATE CLUSTER"),
        lambda answer, _: f"{codes(answer)} {answer['cluster_authorized_operations']}",
    ),
}
