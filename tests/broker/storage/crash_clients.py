"""Run clients of a broker whose answers wait for the disk, step by step, the same way for each seed."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from conformance.calls import offsets_of
from conformance.record_fields import producing
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.security import Address
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.faults.recorded_disk import RecordingSystem
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.protocol.handlers import handler_of
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.records.codec import encode_batch

from .data_directory_harness import NODE

FEW = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}
TOPICS = {"flights": 2, "counts": 1}
READ = TopicPartition("flights", 0)
RULES = {"counts": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}}
TIMEOUT_MS = 60_000
BEGAN = 1_700_000_000.0
_PRODUCE, _COMMIT, _CREATE, _DELETE, _INIT, _ADD, _ADD_OFFSETS, _END, _TXN_COMMIT = 0, 8, 19, 20, 22, 24, 25, 26, 28
_AGAIN = {Code.CONCURRENT_TRANSACTIONS, Code.COORDINATOR_NOT_AVAILABLE}
Answers = Generator[tuple[int, int, Fields], Any, Any]


class StillRuntime(ThreadRuntime):
    """Threads that never run and a clock that the test sets."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def wall(self) -> float:
        return BEGAN + self.at

    def lock(self):
        return threading.RLock()

    def spawn(self, name, target):
        return self

    def join(self, timeout=None):
        return True


@dataclass
class TransactionStep:
    """One transaction: what was written where, which offset was committed, how it was to end, whether it did."""

    written: list[tuple[TopicPartition, bytes]] = field(default_factory=list)
    offset: int | None = None
    asked: bool | None = None
    """To commit, or to abort; None while neither."""
    answered: bool = False


class Writer:
    """A transactional producer with its group; it records its requests and their responses."""

    def __init__(self, name: str, *, old: bool) -> None:
        self.name = name
        self.old = old
        self.producer = ProducerIdAndEpoch(-1, -1)
        self.deeds: list[TransactionStep] = []
        self.sequences: dict[TopicPartition, int] = {}
        self.in_flight: tuple[TopicPartition, int, bytes] | None = None

    def run(self, random: Random, transactions: int, partitions: list[TopicPartition]) -> Answers:
        """Transaction after transaction; every request waits for the answer to the one before."""
        yield from self.take_over()
        for number in range(transactions):
            yield from self.transact(random, number, random.sample(partitions, random.randint(1, 2)))

    def take_over(self) -> Answers:
        """Initialise the id."""
        answer = yield from _until_good(
            _INIT,
            3 if self.old else 5,
            transactional_id=self.name,
            transaction_timeout=milliseconds(TIMEOUT_MS / 1000),
            producer_id=-1,
            producer_epoch=-1,
        )
        self.producer = ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])
        self.sequences = {}

    def transact(self, random: Random, number: int, touched: list[TopicPartition]) -> Answers:
        """One transaction, with its group's offset in two of three."""
        deed = TransactionStep()
        self.deeds.append(deed)
        if self.old:
            topics = [Fields(name=each.topic, partitions=[each.partition]) for each in touched]
            yield from _until_good(_ADD, 3, v3_and_below_topics=topics, **self._who("v3_and_below_"))
        for where in touched:
            for batch in range(random.randint(1, 2)):
                place = b"%s-%d" % (where.topic.encode(), where.partition)
                value = b"%s %d %s %d" % (self.name.encode(), number, place, batch) + b"." * random.choice((0, 40))
                deed.written.append((where, value))
                yield from self.send(where, value)
        if random.random() < 0.67:
            deed.offset = number + 1
            yield from self.commit_offset(deed.offset)
        yield from self.end(deed, commit=random.random() < 0.7)

    def send(self, where: TopicPartition, value: bytes) -> Answers:
        """One record."""
        self.in_flight = where, self.sequences.get(where, 0), value
        yield from self.send_again()

    def send_again(self) -> Answers:
        """The record that was sent last, under its number."""
        assert self.in_flight is not None
        where, sequence, value = self.in_flight
        version = 11 if self.old else 12
        yield from _until_good(_PRODUCE, version, **produced(self.name, self.producer, where, sequence, value))
        self.sequences[where], self.in_flight = sequence + 1, None

    def commit_offset(self, offset: int) -> Answers:
        """Of its group, in its transaction."""
        if self.old:
            yield from _until_good(_ADD_OFFSETS, 3, group_id=self.group, **self._who())
        yield from _until_good(
            _TXN_COMMIT,
            3 if self.old else 5,
            group_id=self.group,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            topics=offsets_of(READ, offset),
            **self._who(),
        )

    def end(self, deed: TransactionStep, *, commit: bool) -> Answers:
        """Commit or abort."""
        deed.asked = commit
        answer = yield from _until_good(_END, 3 if self.old else 5, committed=commit, **self._who())
        deed.answered = True
        if not self.old:
            after = ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])
            if after != self.producer:
                self.producer, self.sequences = after, {}

    @property
    def group(self) -> str:
        return f"group of {self.name}"

    def _who(self, before: str = "") -> dict[str, object]:
        names = ("transactional_id", "producer_id", "producer_epoch")
        return dict(zip((before + name for name in names), (self.name, *self.producer), strict=True))


class Plain:
    """An idempotent producer without transactions, which also commits offsets, makes topics and deletes them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[tuple[TopicPartition, bytes, bool]] = []
        self.offsets: list[tuple[int, bool]] = []
        self.topics: dict[str, tuple[str, bool]] = {}
        self.producer = ProducerIdAndEpoch(-1, -1)

    def run(self, random: Random, steps: int, partitions: list[TopicPartition]) -> Answers:
        """Step after step."""
        answer = yield from _until_good(
            _INIT, 5, transactional_id=None, transaction_timeout=milliseconds(60), producer_id=-1, producer_epoch=-1
        )
        self.producer, sequences = ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"]), {}
        for number in range(steps):
            where, value = random.choice(partitions), b"%s-%d" % (self.name.encode(), number)
            self.sent.append((where, value, False))
            sequence = sequences.get(where, 0)
            yield from _until_good(_PRODUCE, 12, **produced(None, self.producer, where, sequence, value))
            sequences[where] = sequence + 1
            self.sent[-1] = where, value, True
            if number % 3 == 0:
                yield from self._commit(number + 1)
            if number % 4 == 1:
                yield from self._topic(f"made-{number}")
            if number % 8 == 3:
                yield from self._topic(f"made-{number - 2}", gone=True)

    def _commit(self, offset: int) -> Answers:
        self.offsets.append((offset, False))
        who = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
        yield from _until_good(_COMMIT, 8, group_id=self.name, topics=offsets_of(READ, offset), **who)
        self.offsets[-1] = offset, True

    def _topic(self, name: str, *, gone: bool = False) -> Answers:
        self.topics[name] = ("gone" if gone else "there", False)
        wanted = Fields(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
        if gone:
            yield from _until_good(_DELETE, 5, topic_names=[name], timeout=milliseconds(60))
        else:
            yield from _until_good(_CREATE, 5, topics=[wanted], timeout=milliseconds(60), validate_only=False)
        self.topics[name] = (self.topics[name][0], True)


def produced(name, producer, where: TopicPartition, sequence: int, value: bytes) -> dict[str, object]:
    """The fields of a Produce of one record."""
    batch = encode_batch(
        [value],
        [value],
        int(BEGAN * 1000),
        producer=producer,
        base_sequence=sequence,
        transactional=name is not None,
    )
    return producing([(*where, batch)], name)


class RefusedError(Exception):
    """A response after which the client cannot continue."""


def _until_good(key: int, version: int, **fields: object) -> Answers:
    while True:
        answer = yield key, version, Fields(**fields)
        codes = set(_codes(answer)) - {Code.NONE}
        if not codes:
            return answer
        if not codes <= _AGAIN:
            raise RefusedError(key, codes)


def _codes(answer: Any) -> Iterator[Code]:
    if isinstance(answer, dict | Fields) or hasattr(answer, "keys"):
        for name, value in answer.items():
            if name in ("error_code", "partition_error_code"):
                yield Code(int(value))
            elif isinstance(value, list | tuple) or hasattr(value, "keys"):
                yield from _codes(value)
    elif isinstance(answer, list | tuple):
        for each in answer:
            yield from _codes(each)


class Asker:
    """Carries one client's requests to a broker; answers may come later."""

    def __init__(self, broker: Broker, client: Answers) -> None:
        self._broker = broker
        self._client = client
        self._waiting: DelayedOperation | None = None
        self._request: tuple[int, int, Fields] | None = None
        self.done = False
        self._go(None)

    def step(self) -> bool:
        """Continue if a response arrived; return whether the client made progress."""
        if self.done:
            return False
        broker = self._broker
        if self._waiting is not None:
            answer = broker.attempt(self._waiting, expired=False)
            if answer is None:
                return False
            self._waiting = None
        else:
            assert self._request is not None
            key, version, fields = self._request
            reported = broker.serve(handler_of(key), fields, Context(version))
            broker.settle()
            if isinstance(reported, DelayedOperation):
                self._waiting = reported
                return True
            answer = reported
        self._go(answer)
        return True

    def _go(self, answer: Any) -> None:
        try:
            self._request = self._client.send(answer)
        except StopIteration:
            self.done = True


class Known(NamedTuple):
    """The requests and responses of all clients at one moment."""

    writers: list[Writer]
    plain: Plain


class Run:
    """Clients on a broker whose directory is recorded."""

    def __init__(self, root: Path, seed: int, *, writers: int = 3, transactions: int = 4) -> None:
        self.random = Random(seed)
        self.recorder = RecordingSystem()
        self.recorder.root = root
        runtime = StillRuntime()
        storage = DataDirectory.open(root, waits=True, node_id=NODE, system=self.recorder)
        self.broker = Broker(Settings.parse(FEW), Address("127.0.0.1", 1), runtime, storage)
        for topic, partitions in TOPICS.items():
            self.broker.topics.create(topic, partitions, {"segment.bytes": "700", **RULES.get(topic, {})})
        self.flush = self.broker._group_fsync.flush
        self.flush()
        self.begins = len(self.recorder.steps)
        partitions = [TopicPartition(topic, number) for topic, count in TOPICS.items() for number in range(count)]
        self.writers = [Writer(f"writer-{number}", old=number == 0) for number in range(writers)]
        self.plain = Plain("plain")
        clients = [each.run(self.random, transactions, partitions) for each in self.writers]
        clients.append(self.plain.run(self.random, 3 * transactions, partitions))
        self._askers = [Asker(self.broker, each) for each in clients]
        self.known: list[Known] = []
        """What clients knew before each step of the disk, and at the end."""
        self.recorder.before = self._note
        self.recorder.before()

    def _note(self) -> None:
        while len(self.known) + self.begins <= len(self.recorder.steps):
            self.known.append(Known(deepcopy(self.writers), deepcopy(self.plain)))

    def steps(self) -> Iterator[None]:
        """Run steps of two random clients until all clients are done; yield after each step."""
        self.recorder.during = self._meanwhile
        while not all(asker.done for asker in self._askers):
            stepped = [asker.step() for asker in self.random.sample(self._askers, 2)]
            if self.random.random() < 0.4 or not any(stepped):
                self.flush()
            if self.random.random() < 0.1:
                compact(self.broker.topics.partition("counts", 0).log, self.broker.now_ms())
            yield
        self.recorder.during = lambda: None
        self._note()

    def _meanwhile(self) -> None:
        """Requests come while the disk is waited for, unless the broker waits in the midst of one."""
        if not self.broker.lock._is_owned() and self.random.random() < 0.5:
            self.random.choice(self._askers).step()

    def end(self) -> None:
        """Close everything."""
        self.broker.close()
