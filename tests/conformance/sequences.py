"""Random walks of requests, the same on every broker for one seed, with their answers."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.common.codes import Code

from . import broker_state
from .actions import SHORT, choose
from .calls import NOBODY, Answer, Caller

PARTITIONS = 2
IDS = (0, 0, 1)
"""Which transactional id each client believes to have: two share one, a third shares partitions and group with them."""

_BUSY = (4, 1, 3)
"""How much each client does: were those of one id alike, one of them would be fenced all the time."""
_BEGUN = 0.9
"""How many walks begin with an id that is known."""


@dataclass(slots=True)
class Client:
    """A producer as it sees itself: its ids, and the next sequence number of each partition."""

    name: str
    producer: ProducerIdAndEpoch = NOBODY
    next_sequences: dict[int, int] = field(default_factory=dict)

    def become(self, producer: ProducerIdAndEpoch) -> None:
        if producer != self.producer:
            self.producer, self.next_sequences = producer, {}


class Walk:
    """A random walk chosen by a seed: two transactional ids, three clients, two partitions, one group."""

    def __init__(self, caller: Caller, seed: int) -> None:
        self.caller = caller
        self.random = random.Random(seed)
        self.name = f"walk-{seed}-{uuid.uuid4().hex[:8]}"
        self.group = f"{self.name}-readers"
        self.partitions = [TopicPartition(self.name, number) for number in range(PARTITIONS)]
        self._clients = [Client(f"{self.name}-{number}") for number in IDS]
        self._ids: dict[int, str] = {-1: "nobody"}
        self._values = 0
        caller.create(self.name, PARTITIONS)
        caller.warm_up(f"{self.name}-other", self.partitions[0])

        if self.random.random() < _BEGUN:
            for client in (self._clients[0], self._clients[-1]):
                client.become(caller.init(client.name).producer)

    def steps(self, count: int) -> list[str]:
        """Take so many steps; each is told with its answer and the state it led to."""
        return [self._step() for _ in range(count)]

    def seen(self) -> Mapping[str, object]:
        """Every record with its place, by isolation level, and the group's offsets, after the last end."""
        self._end_everything()
        read = {
            level.name: [
                (where.partition, broker_state.records(self.caller, where, level)) for where in self.partitions
            ]
            for level in IsolationLevel
        }
        offsets = [broker_state.group_offset(self.caller, self.group, where, stable=True) for where in self.partitions]
        return {
            **read,
            "offsets": offsets,
            "ends": [broker_state.ends(self.caller, where) for where in self.partitions],
        }

    # --- for actions

    def where(self) -> TopicPartition:
        """A partition, by chance."""
        return self.random.choice(self.partitions)

    def value(self) -> bytes:
        """A value no record has yet."""
        self._values += 1
        return b"%d" % self._values

    def who(self, producer: ProducerIdAndEpoch) -> str:
        """A producer by the order in which ids were met, so that it is called the same on every broker."""
        return f"{self.id(producer.producer_id)} epoch {producer.epoch}"

    def id(self, producer_id: int) -> str:
        """A producer id by the order in which they were met."""
        return self._ids.setdefault(producer_id, f"id{len(self._ids)}")

    def place(self, where: TopicPartition) -> str:
        """A partition without what differs from walk to walk."""
        return where.topic.replace(self.name, "walk") + f"-{where.partition}"

    # --- inside

    def _step(self) -> str:
        [number] = self.random.choices(range(len(IDS)), weights=_BUSY)
        name, take = choose(self.random)
        client = self._clients[number]
        answered, what = take(self, client)
        state, holder = self._settled(client.name)
        after = f"{state} {self.who(holder)}" if state else "unknown"
        return f"client {number} {name} {what}: {self._answer_text(answered)}; {after}"

    def _settled(self, name: str) -> tuple[str, ProducerIdAndEpoch]:
        """Wait until every marker is written and no open transaction can time out."""
        hasty = broker_state.transaction(self.caller, name).timeout_ms <= SHORT * 1000
        return self.caller.settled(name, unless=("Prepare", "Ongoing") if hasty else "Prepare")

    def _answer_text(self, answered: Answer | str) -> str:
        return (
            answered
            if isinstance(answered, str)
            else f"{answered.code._name_} {self.who(answered.producer)} {answered.offset}"
        )

    def _end_everything(self) -> None:
        for name in {client.name: None for client in self._clients}:
            while self.caller.init(name).code is not Code.NONE:
                self.caller.settled(name)
