"""Send single requests about groups, in any version, and look at the answers as they come."""

from __future__ import annotations

import contextlib
import socket
import struct
import uuid
from collections.abc import Iterator
from typing import Any

from conformance.record_fields import producing
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.client.transport.messages import Format, format_of
from eosfw_memory.common.codes import Code

WAIT = 20.0
PROTOCOL = ("range", b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")
OTHER_PROTOCOL = ("roundrobin", PROTOCOL[1])
_LENGTH = struct.Struct(">i")

JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE, LIST, DELETE = 11, 12, 13, 14, 15, 16, 42
COMMIT, FETCH, DELETE_OFFSETS = 8, 9, 47
FIND, INIT, ADD_OFFSETS, END = 10, 22, 25, 26
PRODUCE, CREATE_TOPICS = 0, 19


class Raw:
    """One connection; a delayed response can be received later."""

    def __init__(self, servers: str) -> None:
        host, _, port = servers.partition(":")
        self._socket = socket.create_connection((host, int(port)), WAIT)
        self._asked: list[Format] = []

    def close(self) -> None:
        self._socket.close()

    def send(self, key: int, version: int, **fields: Any) -> None:
        form = format_of(key, version)
        self._asked.append(form)
        self._socket.sendall(form.frame(len(self._asked), "raw", Fields(**fields)))

    def expect_nothing(self) -> None:
        """Wait for no answer to what was asked."""
        self._asked.clear()

    def receive(self) -> Any:
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return self._asked.pop(0).answer(self._exactly(size))[1]

    def ask(self, key: int, version: int, **fields: Any) -> Any:
        self.send(key, version, **fields)
        return self.receive()

    def produce(self, topic: str, batch: bytes, partition: int = 0, transactional_id: str | None = None) -> int:
        """Send one batch; give its code."""
        answer = self.ask(PRODUCE, 9, **producing([(topic, partition, batch)], transactional_id))
        return int(answer["responses"][0]["partition_responses"][0]["error_code"])

    def create_topic(self, name: str, partitions: int = 1, *, validate_only: bool = False, **config: str) -> int:
        """Ask for one topic; give its code."""
        configs = [Fields(name=key, value=value) for key, value in config.items()]
        size = {"num_partitions": partitions, "replication_factor": 1}
        wanted = Fields(name=name, assignments=(), configs=configs, **size)
        answer = self.ask(CREATE_TOPICS, 7, topics=[wanted], timeout=20_000, validate_only=validate_only)
        return int(answer["topics"][0]["error_code"])

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            some = self._socket.recv(size - len(data))
            assert some, "the broker closed the connection"
            data += some
        return data


class Member:
    """One member of a group, with the last response it received."""

    def __init__(self, raw: Raw, group: str, instance: str | None = None) -> None:
        self.raw = raw
        self.group = group
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.protocols = [PROTOCOL]
        self.protocol_type = "consumer"

    def joining(self, **changes: Any) -> dict[str, Any]:
        protocols = changes.pop("protocols", self.protocols)
        return {
            "group_id": self.group,
            "session_timeout": 10_000,
            "rebalance_timeout": 60_000,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocols": [Fields(name=name, metadata=metadata) for name, metadata in protocols],
            "reason": None,
        } | changes

    def get_id(self) -> None:
        """Request a member id, as dynamic members do."""
        if self.instance is None and not self.member_id:
            self.member_id = self.raw.ask(JOIN, 9, **self.joining())["member_id"]

    def send_join(self, version: int = 9) -> None:
        self.get_id()
        self.raw.send(JOIN, version, **self.joining())

    def joined(self) -> Any:
        answer = self.raw.receive()
        if answer["error_code"] == 0:
            self.member_id, self.generation = answer["member_id"], answer["generation_id"]
        return answer

    def join(self, version: int = 9) -> Any:
        self.send_join(version)
        return self.joined()

    def enter(self) -> None:
        """Join as the only member, without an assignment yet."""
        assert self.join()["error_code"] == Code.NONE
        assert self.sync()["error_code"] == Code.NONE

    def joined_again(self) -> Any:
        """The response when the member joins again under its member id."""
        self.raw.send(JOIN, 9, **self.joining())
        return self.raw.receive()

    def who(self, **changes: Any) -> dict[str, Any]:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        } | changes

    def syncing(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> dict[str, Any]:
        given = [Fields(member_id=name, assignment=each) for name, each in (assignments or {}).items()]
        agreed = {"protocol_type": self.protocol_type, "protocol_name": self.protocols[0][0]}
        return self.who(assignments=given, **(agreed | changes))

    def sync(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> Any:
        return self.raw.ask(SYNC, 5, **self.syncing(assignments, **changes))

    def heartbeat(self, **changes: Any) -> int:
        return int(self.raw.ask(HEARTBEAT, 4, **self.who(**changes))["error_code"])

    def leave(self) -> int:
        leaver = Fields(member_id=self.member_id, group_instance_id=self.instance, reason=None)
        return int(self.raw.ask(LEAVE, 5, group_id=self.group, members=[leaver])["members"][0]["error_code"])


def offsets(topic: str, **partitions: int) -> list[Fields]:
    """Offsets as commits carry them; `p0=5` is partition 0."""
    each = [
        Fields(
            partition_index=int(name[1:]),
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        for name, offset in partitions.items()
    ]
    return [Fields(name=topic, partitions=each)]


def code_of(answer: Any) -> int:
    """The code of the only partition."""
    return int(answer["topics"][0]["partitions"][0]["error_code"])


@contextlib.contextmanager
def members(servers: str) -> Iterator[Any]:
    """Make members that are closed in the end; all of one group of its own."""
    made: list[Member] = []
    group = f"g-{uuid.uuid4().hex[:8]}"

    def make(instance: str | None = None) -> Member:
        made.append(Member(Raw(servers), group, instance))
        return made[-1]

    yield make
    for each in made:
        each.raw.close()
