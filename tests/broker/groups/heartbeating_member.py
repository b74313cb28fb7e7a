"""Send the heartbeats of one member of a consumer group, request by request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from broker.groups.group_requests import Raw
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code

HEARTBEAT, DESCRIBE = 68, 69
REBALANCE_SECONDS = 60


class HeartbeatingMember:
    """A member that does at once what it is told."""

    def __init__(self, raw: Raw, group: str, member_id: str, *topics: str, **settings: Any) -> None:
        self._raw = raw
        self.group = group
        self.member_id = member_id
        self.epoch = 0
        self.partitions: dict[UUID, tuple[int, ...]] = {}
        self._settings = {"subscribed_topic_names": topics, **settings}

    def beat(self, **changes: Any) -> Any:
        """Report everything; the answer."""
        owned = [Fields(topic_id=topic_id, partitions=numbers) for topic_id, numbers in self.partitions.items()]
        fields = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout": milliseconds(REBALANCE_SECONDS),
            "subscribed_topic_regex": None,
            "server_assignor": None,
            "topic_partitions": owned,
            **self._settings,
        }
        answer = self._raw.ask(HEARTBEAT, 1, **{**fields, **changes})
        if answer["error_code"] == Code.NONE:
            self.epoch = answer["member_epoch"]
            if answer["assignment"] is not None:
                told = answer["assignment"]["topic_partitions"]
                self.partitions = {each["topic_id"]: each["partitions"] for each in told}
        return answer

    def describe(self) -> Any:
        """The description of its group."""
        [found] = self._raw.ask(DESCRIBE, 1, group_ids=[self.group], include_authorized_operations=False)["groups"]
        return found


def settle(*members: HeartbeatingMember) -> Mapping[str, dict[str, tuple[int, ...]]]:
    """Have all members send heartbeats until the group is stable; what each has, by the names of topics."""
    for _ in range(40):
        for each in members:
            each.beat()
        found = members[0].describe()
        if found["group_state"] == "Stable":
            return {
                member["member_id"]: {
                    each["topic_name"]: tuple(sorted(each["partitions"]))
                    for each in member["assignment"]["topic_partitions"]
                }
                for member in found["members"]
            }
    raise AssertionError(f"the group is {found['group_state']}")
