"""Requests that no good client sends, and some client does, are answered as Kafka answers them."""

from __future__ import annotations

import uuid

import pytest

from broker.groups.group_requests import DELETE_OFFSETS, DESCRIBE, FIND
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

METADATA, DESCRIBE_CONFIGS = 3, 32


@pytest.mark.parametrize("version", [1, 9, 12])
def test_a_topic_that_is_named_twice_is_described_once(raw, new_topic, version):
    topic = new_topic()
    asked = {
        "topics": [Fields(name=topic, topic_id=None)] * 2,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": False,
        "include_cluster_authorized_operations": False,
    }

    assert [each["name"] for each in raw.ask(METADATA, version, **asked)["topics"]] == [topic]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("named", [True, False], ids=["name and id", "neither"])
def test_a_topic_is_not_asked_for_by_id_before_that_is_possible(raw, new_topic, version, named):
    """KIP-516: requests have the field two versions earlier."""
    topic = Fields(name=new_topic() if named else None, topic_id=uuid.uuid4() if named else None)
    which = {"include_topic_authorized_operations": False, "include_cluster_authorized_operations": False}

    answer = raw.ask(METADATA, version, topics=[topic], allow_auto_topic_creation=False, **which)

    found = [(each["name"], each["topic_id"], each["error_code"]) for each in answer["topics"]]
    assert found == [(topic.name or "", topic.topic_id, Code.INVALID_REQUEST)]
    assert (list(answer["brokers"]), answer["cluster_id"], answer["controller_id"]) == ([], None, -1)


def test_an_empty_list_of_properties_asks_for_all_of_them(raw, new_topic):
    topic = new_topic()

    def described(names):
        resource = Fields(resource_type=2, resource_name=topic, configuration_keys=names)
        shown = {"include_synonyms": False, "include_documentation": False}
        return [
            each["name"]
            for each in raw.ask(DESCRIBE_CONFIGS, 4, resources=[resource], **shown)["results"][0]["configs"]
        ]

    assert described(["retention.ms"]) == ["retention.ms"]
    assert set(described([])) == set(described(None)) != set()


@pytest.mark.parametrize(("version", "code"), [(4, Code.NONE), (6, Code.GROUP_ID_NOT_FOUND)])
def test_what_may_be_done_to_a_group_is_shown_before_there_is_one_unless_that_is_an_error(raw, version, code):
    name = f"odd-{uuid.uuid4().hex[:8]}"
    raw.ask(FIND, 4, key_type=0, coordinator_keys=[name])

    [group] = raw.ask(DESCRIBE, version, groups=[name], include_authorized_operations=True)["groups"]

    assert (group["group_state"], group["error_code"]) == ("Dead", code)
    assert (group["authorized_operations"] > 0) is (code is Code.NONE)


def test_the_offsets_of_a_group_without_a_name_cannot_be_deleted(raw, new_topic):
    partition = Fields(partition_index=0)

    answer = raw.ask(DELETE_OFFSETS, 0, group_id="", topics=[Fields(name=new_topic(), partitions=[partition])])

    assert answer["error_code"] == Code.INVALID_GROUP_ID
