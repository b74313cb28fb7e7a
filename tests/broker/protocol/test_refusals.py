"""Invalid requests are refused with Kafka's codes: one table, checked on both brokers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

from ..groups.group_requests import WAIT, Raw
from ..ready_topics import create

TOPIC = f"refusals-{uuid.uuid4().hex[:8]}"
"""Another one in each process: they share a real Kafka."""
TWICE = f"{TOPIC}-twice"


@dataclass(frozen=True, slots=True)
class Row:
    """One request, where its code is, what that is."""

    what: str
    key: int
    version: int
    fields: dict[str, Any]
    code: Callable[[Any], int]
    expected: Code


def row(what: str, key: int, version: int, expected: Code, *path: str, **fields: Any) -> Row:
    """A row whose code is that of the first thing of each list of a path."""

    def code(answer: Any) -> int:
        for name in path:
            answer = answer[name][0]
        return answer["error_code"]

    return Row(what, key, version, fields, code, expected)


def described(what: str, kind: int, name: str, expected: Code) -> Row:
    """DescribeConfigs of one resource."""
    resources = [Fields(resource_type=kind, resource_name=name, configuration_keys=None)]
    shown = {"include_synonyms": False, "include_documentation": False}
    return row(f"DescribeConfigs {what}", 32, 4, expected, "results", resources=resources, **shown)


def names() -> Iterator[Row]:
    """What can be no topic's name."""
    illegal = Code.INVALID_TOPIC_EXCEPTION
    flags = {"include_topic_authorized_operations": False, "include_cluster_authorized_operations": False}
    for name in ("", "..", "a b", "x" * 250):
        shown, metadata = name[:5] or "empty", {"topics": [Fields(name=name)], "allow_auto_topic_creation": False}
        yield row(f"Metadata of {shown}", 3, 9, illegal, "topics", **metadata, **flags)
        yield described(f"of {shown}", 2, name, illegal)
        partitions = [Fields(name=name, partition_indexes=[0])]
        yield row(f"DescribeProducers of {shown}", 61, 0, illegal, "topics", "partitions", topics=partitions)


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
        yield described(f"{kind} {name}", kind, name, expected)


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
        yield row(f"ApiVersions from {name!r} {version!r}", 18, 3, expected, **message)


def clusters() -> Iterator[Row]:
    """Brokers or controllers (KIP-919)."""
    flags = {"include_cluster_authorized_operations": False, "include_fenced_brokers": False}
    for kind, expected in (
        (1, Code.NONE),
        (2, Code.MISMATCHED_ENDPOINT_TYPE),
        (7, Code.UNSUPPORTED_ENDPOINT_TYPE),
    ):
        yield row(f"DescribeCluster of type {kind}", 60, 2, expected, endpoint_type=kind, **flags)


def acls() -> Iterator[Row]:
    """Requests about ACLs: the broker has no authorizer."""
    refused = Code.SECURITY_DISABLED
    pattern = {"resource_type_filter": 2, "resource_name_filter": "a", "pattern_type_filter": 3}
    anybody = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    rule = {"resource_type": 2, "resource_name": "a", "resource_pattern_type": 3, "principal": "User:a", "host": "*"}
    made = Fields(**rule, operation=3, permission_type=3)
    yield row("DescribeAcls", 29, 3, refused, **pattern, **anybody)
    yield row("CreateAcls", 30, 3, refused, "results", creations=[made])
    yield row("DeleteAcls", 31, 3, refused, "filter_results", filters=[Fields(**pattern, **anybody)])


def topics() -> Iterator[Row]:
    """Topics that are there, or not."""
    invalid, config = Code.INVALID_REQUEST, [Fields(name="cleanup.policy", value="burn")]
    twice, neither = [Fields(name=TWICE, topic_id=None)] * 2, [Fields(name=None, topic_id=None)]
    yield row("DeleteTopics twice", 20, 6, invalid, "responses", topics=twice, timeout=5000)
    yield row("DeleteTopics of nothing", 20, 6, invalid, "responses", topics=neither, timeout=5000)
    for what, name, partitions, copies, configs, expected in (
        ("that is there", TOPIC, 1, 1, (), Code.TOPIC_ALREADY_EXISTS),
        ("b/d", "b/d", 1, 1, (), Code.INVALID_TOPIC_EXCEPTION),
        ("without partitions", "none", 0, 1, (), Code.INVALID_PARTITIONS),
        ("with three replicas", "copies", 1, 3, (), Code.INVALID_REPLICATION_FACTOR),
        ("with an odd policy", "odd", 1, 1, config, Code.INVALID_CONFIG),
    ):
        size = {"num_partitions": partitions, "replication_factor": copies}
        wanted = [Fields(name=name, assignments=(), configs=configs, **size)]
        how = {"topics": wanted, "timeout": 5000, "validate_only": False}
        yield row(f"CreateTopics of one {what}", 19, 7, expected, "topics", **how)
    null = [Fields(name="retention.ms", value=None)]
    own, elsewhere, second = ([Fields(partition_index=at, broker_ids=[on])] for at, on in ((0, 1), (0, 7), (1, 1)))
    for what, name, partitions, copies, assigned, configs, expected in (
        ("there without partitions or replicas", TOPIC, 0, 0, (), (), Code.TOPIC_ALREADY_EXISTS),
        ("without partitions of two replicas", "none", 0, 2, (), (), Code.INVALID_PARTITIONS),
        ("of more partitions than a request may have", "many", 20_000, 1, (), (), Code.POLICY_VIOLATION),
        ("with a property that is null", "null", 1, 1, (), null, Code.INVALID_CONFIG),
        ("assigned beside a number of partitions", "assigned", 1, -1, own, (), invalid),
        ("assigned beside a number of replicas", "assigned", -1, 1, own, (), invalid),
        ("assigned to another broker", "assigned", -1, -1, elsewhere, (), Code.INVALID_REPLICA_ASSIGNMENT),
        ("assigned from partition 1 on", "assigned", -1, -1, second, (), Code.INVALID_REPLICA_ASSIGNMENT),
    ):
        size = {"num_partitions": partitions, "replication_factor": copies}
        wanted = [Fields(name=name, assignments=assigned, configs=configs, **size)]
        how = {"topics": wanted, "timeout": 5000, "validate_only": True}
        yield row(f"CreateTopics of one {what}", 19, 7, expected, "topics", **how)
    wanted = [Fields(topic=TOPIC, partitions=[Fields(partition=0, current_leader_epoch=-1, leader_epoch=-1)])]
    path = ("topics", "partitions")
    yield row("OffsetForLeaderEpoch of -1", 23, 4, Code.NONE, *path, replica_id=-2, topics=wanted)
    for kind, key, expected in ((7, "x", invalid), (1, "", Code.NONE)):
        asked = {"key_type": kind, "coordinator_keys": [key]}
        yield row(f"FindCoordinator {kind} of {key!r}", 10, 4, expected, "coordinators", **asked)
    yield row("ListPartitionReassignments", 46, 0, Code.NONE, timeout=1000, topics=None)


ROWS = [*names(), *properties(), *clients(), *clusters(), *acls(), *topics()]


@pytest.fixture(scope="module")
def ready(cluster, admin):
    """Two topics."""
    known = admin.list_topics(timeout=WAIT).topics
    missing = [NewTopic(name, 1, 1) for name in (TOPIC, TWICE) if name not in known]
    create(admin, cluster.bootstrap_servers, *missing)


def test_each_invalid_request_gets_kafkas_error_code(ready, cluster):
    """CMP-01."""
    found = {}
    for row in ROWS:
        raw = Raw(cluster.bootstrap_servers)
        found[row.what] = Code(row.code(raw.ask(row.key, row.version, **row.fields)))
        raw.close()

    assert found == {row.what: row.expected for row in ROWS}


def test_a_topic_that_was_named_twice_is_still_there(ready, admin, raw):
    twice = [Fields(name=TWICE, topic_id=None), Fields(name=TWICE, topic_id=None)]

    answer = raw.ask(20, 6, topics=twice, timeout=5000)

    assert [each["error_code"] for each in answer["responses"]] == [Code.INVALID_REQUEST]
    assert TWICE in admin.list_topics(timeout=WAIT).topics


def test_the_transaction_version_is_reported_as_a_feature(ready, raw):
    """KIP-890, KIP-584: by this feature clients of Kafka 4 decide to use one epoch per transaction."""
    message = {"client_software_name": "eosfw", "client_software_version": "1"}
    answer = raw.ask(18, 4, **message)
    feature = "transaction.version"

    [supported] = [each for each in answer["supported_features"] if each["name"] == feature]
    [finalized] = [each for each in answer["finalized_features"] if each["name"] == feature]
    assert (supported["min_version"], supported["max_version"]) == (0, 2)
    assert (finalized["min_version_level"], finalized["max_version_level"]) == (2, 2)
    assert answer["finalized_features_epoch"] >= 0
    assert not any(each["name"] == feature for each in raw.ask(18, 3, **message)["supported_features"])
