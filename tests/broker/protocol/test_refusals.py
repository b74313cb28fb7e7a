"""Invalid requests are refused with Kafka's codes: one table, checked on both brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

from ..groups.group_requests import WAIT, Raw
from ..ready_topics import create

TOPIC = "refusals"
TWICE = "refusals-twice"
ILLEGAL = ("", "..", "a b", "x" * 250)
LONG = {name: name[:5] or "empty" for name in ILLEGAL}


@dataclass(frozen=True, slots=True)
class Row:
    """One request, where its code is, what that is."""

    what: str
    key: int
    version: int
    fields: dict[str, Any]
    code: Callable[[Any], int]
    expected: Code


def top(answer: Any) -> int:
    return answer["error_code"]


def first(*path: str) -> Callable[[Any], int]:
    """The code of the first thing of each list."""

    def code(answer: Any) -> int:
        for name in path:
            answer = answer[name][0]
        return answer["error_code"]

    return code


def names() -> Iterator[Row]:
    """What can be no topic's name."""
    for name, shown in LONG.items():
        metadata = {"topics": [Fields(name=name)], "allow_auto_topic_creation": False}
        flags = {"include_topic_authorized_operations": False, "include_cluster_authorized_operations": False}
        yield Row(f"Metadata of {shown}", 3, 9, metadata | flags, first("topics"), Code.INVALID_TOPIC_EXCEPTION)
        asked = {"resources": [Fields(resource_type=2, resource_name=name, configuration_keys=None)]}
        yield Row(
            f"DescribeConfigs of {shown}", 32, 4, described(asked), first("results"), Code.INVALID_TOPIC_EXCEPTION
        )
        partitions = {"topics": [Fields(name=name, partition_indexes=[0])]}
        yield Row(
            f"DescribeProducers of {shown}",
            61,
            0,
            partitions,
            first("topics", "partitions"),
            Code.INVALID_TOPIC_EXCEPTION,
        )


def described(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"include_synonyms": False, "include_documentation": False}


def properties() -> Iterator[Row]:
    """Resources with and without configuration."""
    for kind, name, expected in (
        (4, "9", Code.INVALID_REQUEST),
        (7, "x", Code.INVALID_REQUEST),
        (8, "1", Code.NONE),
        (8, "9", Code.INVALID_REQUEST),
        (8, "", Code.INVALID_REQUEST),
        (16, "x", Code.NONE),
        (16, "", Code.INVALID_REQUEST),
        (32, "g", Code.NONE),
        (32, "", Code.INVALID_REQUEST),
    ):
        asked = {"resources": [Fields(resource_type=kind, resource_name=name, configuration_keys=None)]}
        yield Row(f"DescribeConfigs {kind} {name}", 32, 4, described(asked), first("results"), expected)


def clients() -> Iterator[Row]:
    """Names of software (KIP-511)."""
    for name, version, expected in (
        ("a", "1.0-SNAPSHOT", Code.NONE),
        ("", "1", Code.INVALID_REQUEST),
        ("a", "", Code.INVALID_REQUEST),
        ("a b", "1", Code.INVALID_REQUEST),
        ("-a", "1", Code.INVALID_REQUEST),
        ("a", "1.", Code.INVALID_REQUEST),
        ("a", "1/2", Code.INVALID_REQUEST),
    ):
        message = {"client_software_name": name, "client_software_version": version}
        yield Row(f"ApiVersions from {name!r} {version!r}", 18, 3, message, top, expected)


def clusters() -> Iterator[Row]:
    """Brokers or controllers (KIP-919)."""
    for kind, expected in (
        (1, Code.NONE),
        (2, Code.MISMATCHED_ENDPOINT_TYPE),
        (7, Code.UNSUPPORTED_ENDPOINT_TYPE),
    ):
        asked = {"endpoint_type": kind, "include_cluster_authorized_operations": False, "include_fenced_brokers": False}
        yield Row(f"DescribeCluster of type {kind}", 60, 2, asked, top, expected)


def acls() -> Iterator[Row]:
    """Requests about ACLs: the broker has no authorizer."""
    pattern = {"resource_type_filter": 2, "resource_name_filter": "a", "pattern_type_filter": 3}
    anybody = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    rule = {"resource_type": 2, "resource_name": "a", "resource_pattern_type": 3, "principal": "User:a", "host": "*"}
    made = Fields(**rule, operation=3, permission_type=3)
    yield Row("DescribeAcls", 29, 3, pattern | anybody, top, Code.SECURITY_DISABLED)
    yield Row("CreateAcls", 30, 3, {"creations": [made]}, first("results"), Code.SECURITY_DISABLED)
    filters = {"filters": [Fields(**pattern, **anybody)]}
    yield Row("DeleteAcls", 31, 3, filters, first("filter_results"), Code.SECURITY_DISABLED)


def topics() -> Iterator[Row]:
    """Topics that are there, or not."""
    twice = [Fields(name=TWICE, topic_id=None)] * 2
    yield Row("DeleteTopics twice", 20, 6, {"topics": twice, "timeout": 5000}, first("responses"), Code.INVALID_REQUEST)
    neither = [Fields(name=None, topic_id=None)]
    yield Row(
        "DeleteTopics of nothing", 20, 6, {"topics": neither, "timeout": 5000}, first("responses"), Code.INVALID_REQUEST
    )
    wanted = [Fields(partition=0, current_leader_epoch=-1, leader_epoch=-1)]
    epoch = {"replica_id": -2, "topics": [Fields(topic=TOPIC, partitions=wanted)]}
    yield Row("OffsetForLeaderEpoch of -1", 23, 4, epoch, first("topics", "partitions"), Code.NONE)
    yield Row(
        "FindCoordinator of type 7",
        10,
        4,
        {"key_type": 7, "coordinator_keys": ["x"]},
        first("coordinators"),
        Code.INVALID_REQUEST,
    )
    yield Row(
        "FindCoordinator of no id", 10, 4, {"key_type": 1, "coordinator_keys": [""]}, first("coordinators"), Code.NONE
    )
    yield Row("ListPartitionReassignments", 46, 0, {"timeout": 1000, "topics": None}, top, Code.NONE)


ROWS = [*names(), *properties(), *clients(), *clusters(), *acls(), *topics()]


@pytest.fixture(scope="module")
def ready(cluster, admin):
    """Two topics."""
    known = admin.list_topics(timeout=WAIT).topics
    missing = [NewTopic(name, 1, 1) for name in (TOPIC, TWICE) if name not in known]
    create(admin, cluster.bootstrap_servers, *missing)


@pytest.mark.parametrize("row", ROWS, ids=[row.what for row in ROWS])
def test_each_invalid_request_gets_kafkas_error_code(ready, cluster, row):
    """CMP-01."""
    raw = Raw(cluster.bootstrap_servers)
    answer = raw.ask(row.key, row.version, **row.fields)
    raw.close()

    assert Code(row.code(answer)) is row.expected


def test_a_topic_that_was_named_twice_is_still_there(ready, admin, raw):
    twice = [Fields(name=TWICE, topic_id=None), Fields(name=TWICE, topic_id=None)]

    answer = raw.ask(20, 6, topics=twice, timeout=5000)

    assert [each["error_code"] for each in answer["responses"]] == [Code.INVALID_REQUEST]
    assert TWICE in admin.list_topics(timeout=WAIT).topics


def test_no_end_offset_is_given_for_an_unknown_epoch(ready, raw):
    wanted = [Fields(partition=0, current_leader_epoch=-1, leader_epoch=-1)]
    answer = raw.ask(23, 4, replica_id=-2, topics=[Fields(topic=TOPIC, partitions=wanted)])

    [reported] = answer["topics"][0]["partitions"]
    assert (reported["leader_epoch"], reported["end_offset"]) == (-1, -1)
