"""Single groups have properties of their own, with the answers of a real Kafka (KIP-848)."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from broker.groups.consumers import until
from broker.groups.group_requests import Raw
from broker.groups.heartbeating_member import HeartbeatingMember
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code

DESCRIBE, ALTER, ALTER_SOME, LIST = 32, 33, 44, 74
SET, REMOVE, APPEND = range(3)
GROUP = 32
INTERVAL = "heartbeat.interval.ms"
SESSION, HEARTBEAT = "consumer.session.timeout.ms", f"consumer.{INTERVAL}"
DEFAULT, GIVEN = 5, 8
SHORT = {
    "group.consumer.heartbeat.interval.ms": "40",
    "group.consumer.min.heartbeat.interval.ms": "1",
    "group.consumer.min.session.timeout.ms": "1",
}


@pytest.fixture
def group():
    return f"g-{uuid.uuid4().hex[:8]}"


def alter(raw, group, *changes, validate_only=False):
    configs = [Fields(name=name, config_operation=how, value=value) for name, how, value in changes]
    resource = Fields(resource_type=GROUP, resource_name=group, configs=configs)
    [answer] = raw.ask(ALTER_SOME, 1, resources=[resource], validate_only=validate_only)["responses"]
    return answer["error_code"], answer["error_message"]


def replace(raw, group, **config):
    configs = [Fields(name=name.replace("_", "."), value=value) for name, value in config.items()]
    resource = Fields(resource_type=GROUP, resource_name=group, configs=configs)
    [answer] = raw.ask(ALTER, 2, resources=[resource], validate_only=False)["responses"]
    return answer["error_code"]


def shown(raw, group):
    """Both properties of consumer groups, each with where it comes from."""
    wanted = Fields(resource_type=GROUP, resource_name=group, configuration_keys=[SESSION, HEARTBEAT])
    [found] = raw.ask(DESCRIBE, 4, resources=[wanted], include_synonyms=False, include_documentation=False)["results"]
    if found["error_code"] != Code.NONE:
        return found["error_code"]
    every = {each["name"]: each for each in found["configs"]}
    assert {(each["config_type"], each["read_only"], each["is_sensitive"]) for each in every.values()} == {
        (3, False, False)
    }
    return tuple((every[name]["value"], every[name]["config_source"]) for name in (SESSION, HEARTBEAT))


def becomes(raw, group, *expected):
    """A real Kafka propagates it to one broker after another."""
    until(lambda: shown(raw, group) == expected)


def test_a_group_has_the_properties_of_the_broker_until_it_gets_its_own(raw, group):
    """GRP-04: whether it exists or not; what is removed, or not named among all, is the broker's again."""
    assert shown(raw, group) == (("45000", DEFAULT), ("100", DEFAULT))

    assert alter(raw, group, (SESSION, SET, "50000"), (HEARTBEAT, SET, "200")) == (Code.NONE, None)
    becomes(raw, group, ("50000", GIVEN), ("200", GIVEN))
    assert alter(raw, group, (SESSION, SET, "55000"), validate_only=True) == (Code.NONE, None)
    assert alter(raw, group, (HEARTBEAT, REMOVE, None)) == (Code.NONE, None)
    becomes(raw, group, ("50000", GIVEN), ("100", DEFAULT))
    assert replace(raw, group, consumer_heartbeat_interval_ms="300") == Code.NONE
    becomes(raw, group, ("45000", DEFAULT), ("300", GIVEN))


def test_what_may_have_properties_is_listed(raw, group, topic):
    """GRP-04, KIP-1142: of groups those that have some."""
    assert alter(raw, group, (SESSION, SET, "50000")) == (Code.NONE, None)
    becomes(raw, group, ("50000", GIVEN), ("100", DEFAULT))

    def listed(version, **wanted):
        answer = raw.ask(LIST, version, **wanted)
        found = {(each["resource_type"], each["resource_name"]) for each in answer["config_resources"]}
        return answer["error_code"], found

    assert (GROUP, group) in listed(1, resource_types=[GROUP])[1]
    assert {kind for kind, _ in listed(1, resource_types=[GROUP])[1]} == {GROUP}
    assert {(GROUP, group), (2, topic), (4, "1"), (8, "1")} <= listed(1, resource_types=[])[1]
    assert listed(0) == (Code.NONE, set())
    assert listed(1, resource_types=[99]) == (Code.UNSUPPORTED_VERSION, set())


def test_members_get_the_interval_of_their_group(raw, group, new_topic):
    """GRP-04."""
    one = HeartbeatingMember(raw, group, "one", new_topic())
    assert one.beat()["heartbeat_interval"] == timedelta(milliseconds=100)

    assert alter(raw, group, (HEARTBEAT, SET, "700")) == (Code.NONE, None)

    until(lambda: one.beat()["heartbeat_interval"] == timedelta(milliseconds=700))


@pytest.mark.parametrize(
    ("name", "how", "value", "why"),
    [
        (SESSION, SET, "44999", f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        (SESSION, SET, "60001", f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms"),
        (HEARTBEAT, SET, "99", f"{HEARTBEAT} must be greater than or equal to group.consumer.min.{INTERVAL}"),
        (HEARTBEAT, SET, "15001", f"{HEARTBEAT} must be less than or equal to group.consumer.max.{INTERVAL}"),
        (SESSION, SET, "x", f"Invalid value x for configuration {SESSION}: Not a number of type INT"),
        (SESSION, SET, "-1", f"Invalid value -1 for configuration {SESSION}: Value must be at least 1"),
        (SESSION, APPEND, "1", f"Can't APPEND to key {SESSION} because its type is not LIST."),
        ("retention.ms", SET, "1", "Unknown group config name: retention.ms"),
    ],
)
def test_a_property_that_no_group_may_have_is_refused(raw, group, name, how, value, why):
    """GRP-04: limits are the broker's."""
    assert alter(raw, group, (name, how, value)) == (Code.INVALID_CONFIG, why)
    assert shown(raw, group) == (("45000", DEFAULT), ("100", DEFAULT))


def test_a_property_without_a_value_or_a_group_is_refused(raw, group):
    """GRP-04: there are no defaults for all groups."""
    assert alter(raw, group, (SESSION, SET, None)) == (
        Code.INVALID_REQUEST,
        f"Null value not supported for : {SESSION}",
    )
    assert alter(raw, "", (SESSION, SET, "50000")) == (
        Code.INVALID_REQUEST,
        "Default group resources are not allowed.",
    )
    assert shown(raw, "") == Code.INVALID_REQUEST


def test_properties_of_groups_outlast_the_broker_and_count(tmp_path, group):
    """GRP-05: from the log; the session of a group ends after its own time."""
    served = EmbeddedCluster.start({"log.dirs": str(tmp_path), **SHORT}, ThreadRuntime())
    raw = Raw(served.bootstrap_servers)
    for name in (group, "other"):
        assert alter(raw, name, (SESSION, SET, "50"), (HEARTBEAT, SET, "20")) == (Code.NONE, None)
    assert replace(raw, "other") == Code.NONE
    refused = Code.INVALID_CONFIG, f"{SESSION} must be greater than {HEARTBEAT}"
    assert alter(raw, group, (HEARTBEAT, SET, "50")) == refused
    raw.close()
    served.close()

    served = EmbeddedCluster.start({"log.dirs": str(tmp_path), **SHORT}, ThreadRuntime())
    raw = Raw(served.bootstrap_servers)
    assert shown(raw, group) == (("50", GIVEN), ("20", GIVEN))
    assert shown(raw, "other") == (("45000", DEFAULT), ("40", DEFAULT))
    one, other = (HeartbeatingMember(raw, name, "one", "any") for name in (group, "other"))
    assert one.beat()["error_code"] == other.beat()["error_code"] == Code.NONE
    until(lambda: one.describe()["group_state"] == "Empty")
    assert other.describe()["group_state"] == "Stable"
    raw.close()
    served.close()
