"""What the log of groups cannot hold is refused for good: a client that asked again would ask for ever."""

from __future__ import annotations

import uuid
from datetime import timedelta

from broker.groups.group_requests import COMMIT, FIND
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

LONGEST_METADATA = "m" * 4096


def test_more_offsets_than_fit_into_one_batch_are_an_error_that_does_not_pass(cluster, raw, new_topic):
    """Kafka's group coordinator answers so where its log answers MessageTooLarge."""
    topic, group = new_topic(300), f"large-{uuid.uuid4().hex[:8]}"
    raw.ask(FIND, 4, key_type=0, coordinator_keys=[group])
    offsets = [
        Fields(
            partition_index=partition,
            committed_offset=1,
            committed_leader_epoch=-1,
            committed_metadata=LONGEST_METADATA,
        )
        for partition in range(300)
    ]
    who = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}

    answer = raw.ask(COMMIT, 8, **who, topics=[Fields(name=topic, partitions=offsets)])

    assert {each["error_code"] for each in answer["topics"][0]["partitions"]} == {Code.UNKNOWN_SERVER_ERROR}


def test_a_member_with_more_topics_than_fit_into_one_batch_gets_an_error_that_does_not_pass(raw):
    joining = {
        "group_id": f"large-{uuid.uuid4().hex[:8]}",
        "member_id": str(uuid.uuid4()),
        "member_epoch": 0,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": timedelta(seconds=30),
        "subscribed_topic_names": [f"{number:0240}" for number in range(6000)],
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [],
    }
    raw.ask(FIND, 4, key_type=0, coordinator_keys=[joining["group_id"]])

    assert raw.ask(68, 1, **joining)["error_code"] == Code.UNKNOWN_SERVER_ERROR
