"""Walk through requests at random, the same walk on any broker, and note what was said."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.codes import Code

from .calls import NOBODY, WAIT, Caller, Told

PARTITIONS = 2
CLIENTS = 2


@dataclass(slots=True)
class Client:
    """A producer as it sees itself: its ids, and the sequence number due in each partition."""

    producer: ProducerIdAndEpoch = NOBODY
    due: dict[int, int] = field(default_factory=dict)

    def become(self, producer: ProducerIdAndEpoch) -> None:
        if producer != self.producer:
            self.producer, self.due = producer, {}


class Walk:
    """One transactional id, two clients that both believe in it, two partitions; everything hangs on the seed."""

    def __init__(self, caller: Caller, seed: int) -> None:
        self._caller = caller
        self._random = random.Random(seed)
        self._name = f"walk-{seed}-{uuid.uuid4().hex[:8]}"
        self._clients = [Client() for _ in range(CLIENTS)]
        self._ids: dict[int, str] = {-1: "nobody"}
        self._values = 0
        caller.create(self._name, PARTITIONS)
        caller.warm_up(f"{self._name}-other", TopicPartition(self._name, 0))

    def steps(self, count: int) -> list[str]:
        """Take so many steps; each is told with its answer and the state it led to."""
        return [self._step() for _ in range(count)]

    def seen(self) -> Mapping[str, list[tuple[int, int, bytes | None]]]:
        """Every record with its place, by isolation level, after the last transaction was ended."""
        self._end_everything()
        with_wait = {"bootstrap.servers": self._caller.servers, "eosfw.transport": "socket"}
        backend = MemoryBackend.connect(with_wait, self._caller.runtime)
        try:
            return {level.name: self._read(backend, level) for level in IsolationLevel}
        finally:
            backend.close()

    # --- inside

    def _step(self) -> str:
        number = self._random.randrange(CLIENTS)
        action = self._random.choices(list(_ACTIONS), weights=[weight for weight, _ in _ACTIONS.values()])[0]
        told, what = _ACTIONS[action][1](self, self._clients[number])
        state, holder = self._caller.settled(self._name)
        after = f"{state} {self._who(holder)}" if state else "unknown"
        return f"client {number} {action} {what}: {self._said(told)}; {after}"

    def _said(self, told: Told) -> str:
        return f"{told.code._name_} {self._who(told.producer)} {told.offset}"

    def _who(self, producer: ProducerIdAndEpoch) -> str:
        name = self._ids.setdefault(producer.producer_id, f"id{len(self._ids)}")
        return f"{name} epoch {producer.epoch}"

    def _where(self) -> TopicPartition:
        return TopicPartition(self._name, self._random.randrange(PARTITIONS))

    def _init(self, client: Client) -> tuple[Told, str]:
        told = self._caller.init(self._name)
        if told.code is Code.NONE:
            client.become(told.producer)
        return told, ""

    def _init_named(self, client: Client) -> tuple[Told, str]:
        told = self._caller.init(self._name, client.producer)
        if told.code is Code.NONE:
            client.become(told.producer)
        return told, ""

    def _add(self, client: Client) -> tuple[Told, str]:
        where = self._where()
        return self._caller.add(self._name, client.producer, where), str(where.partition)

    def _verify(self, client: Client) -> tuple[Told, str]:
        where = self._where()
        return self._caller.add_batched(self._name, client.producer, where, verify=True), str(where.partition)

    def _produce(self, version: int) -> Callable[[Client], tuple[Told, str]]:
        def produce(client: Client) -> tuple[Told, str]:
            where = self._where()
            due = client.due.get(where.partition, 0)
            sequence = max(0, due + self._random.choice([0, 0, 0, 0, 0, -1, -6, 2]))
            self._values += 1
            value = b"%d" % self._values
            told = self._caller.produce(self._name, client.producer, where, sequence, version, value)
            if told.code is Code.NONE:
                client.due[where.partition] = max(due, sequence + 1)
            return told, f"{where.partition} sequence {sequence}"

        return produce

    def _end(self, version: int) -> Callable[[Client], tuple[Told, str]]:
        def end(client: Client) -> tuple[Told, str]:
            commit = self._random.random() < 0.6
            told = self._caller.end(self._name, client.producer, version, commit=commit)
            if told.code is Code.NONE and told.producer != NOBODY and self._random.random() < 0.8:
                client.become(told.producer)  # else the answer was lost
            return told, "commit" if commit else "abort"

        return end

    def _offsets(self, version: int) -> Callable[[Client], tuple[Told, str]]:
        def commit(client: Client) -> tuple[Told, str]:
            where = self._where()
            return self._caller.commit_offsets(self._name, client.producer, self._name, where, version), ""

        return commit

    def _add_offsets(self, client: Client) -> tuple[Told, str]:
        return self._caller.add_offsets(self._name, client.producer, self._name), ""

    def _end_everything(self) -> None:
        while self._caller.init(self._name).code is not Code.NONE:
            self._caller.settled(self._name)

    def _read(self, backend: MemoryBackend, level: IsolationLevel) -> list[tuple[int, int, bytes | None]]:
        partitions = [TopicPartition(self._name, number) for number in range(PARTITIONS)]
        ends = backend.admin().end_offsets(partitions, level)
        reader = backend.reader(level)
        batches = reader.read({where: OffsetRange(0, end) for where, end in ends.items()}, WAIT)
        return sorted(
            (batch.partition, offset, value)
            for batch in batches
            for offset, value in zip(batch.offsets, batch.values, strict=True)
        )


_Action = Callable[[Walk, Client], tuple[Told, str]]
_ACTIONS: Mapping[str, tuple[int, _Action]] = {
    "init": (2, Walk._init),
    "init named": (2, Walk._init_named),
    "add 3": (4, Walk._add),
    "verify 5": (2, Walk._verify),
    "produce 9": (3, lambda walk, client: walk._produce(9)(client)),
    "produce 11": (5, lambda walk, client: walk._produce(11)(client)),
    "produce 12": (8, lambda walk, client: walk._produce(12)(client)),
    "end 4": (4, lambda walk, client: walk._end(4)(client)),
    "end 5": (6, lambda walk, client: walk._end(5)(client)),
    "add offsets 4": (1, Walk._add_offsets),
    "commit offsets 3": (1, lambda walk, client: walk._offsets(3)(client)),
    "commit offsets 5": (1, lambda walk, client: walk._offsets(5)(client)),
}
"""What a client may do, with how often."""
