"""Send single requests of Kafka's protocol in a chosen version and return the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Api, Fields, milliseconds
from eosfw_memory.client.transport.channel import Network
from eosfw_memory.client.transport.sockets import SocketNetwork
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.codec import encode_batch

from .record_fields import WAIT, producing

_GROUP, _TRANSACTION = 0, 1
NOT_YET = (Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE, Code.NOT_COORDINATOR)
NOBODY = ProducerIdAndEpoch(-1, -1)
_PRODUCE, _LIST_OFFSETS, _FIND_COORDINATOR, _CREATE_TOPICS = 0, 2, 10, 19
_INIT, _ADD_PARTITIONS, _ADD_OFFSETS, _END, _MARKERS, _COMMIT_OFFSETS = 22, 24, 25, 26, 27, 28
_DESCRIBE_PRODUCERS, _DESCRIBE_TRANSACTIONS = 61, 65
_PLAIN_COMMIT, _DELETE_RECORDS = 8, 21


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: a code, and where it has them the producer that is meant now, an offset, what else was shown."""

    code: Code
    producer: ProducerIdAndEpoch = NOBODY
    offset: int = -1
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """The group membership that a request claims."""

    member_id: str = ""
    generation: int = -1
    instance: str | None = None


NO_MEMBER = Member()


def offsets_of(where: TopicPartition, offset: int, metadata: str = "") -> list[Fields]:
    """The fields of a request that commits the offset of one partition."""
    wanted = Fields(
        partition_index=where.partition, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=metadata
    )
    return [Fields(name=where.topic, partitions=[wanted])]


@cache
def _api(key: int, version: int) -> Api:
    return Api(key, f"request {key}", version, version)


class Caller:
    """One connection to one broker; another network than a socket's may lead there."""

    def __init__(self, servers: str, network: Network | None = None) -> None:
        self.servers = servers
        self.runtime = ThreadRuntime()
        self._network = network or SocketNetwork(servers, "conformance", WAIT, self.runtime)

    def close(self) -> None:
        self._network.close()

    def ask(self, key: int, version: int, /, **fields: object) -> Any:
        deadline = self.runtime.now() + WAIT
        return self._network.any(deadline).call(_api(key, version), Fields(**fields), deadline)

    # --- requests of transactions

    def init(self, name: str, expected: ProducerIdAndEpoch = NOBODY, version: int = 5, timeout: float = 60.0) -> Answer:
        answer = self.ask(
            _INIT,
            version,
            transactional_id=name,
            transaction_timeout=milliseconds(timeout),
            producer_id=expected.producer_id,
            producer_epoch=expected.epoch,
        )
        return Answer(_code(answer), ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"]))

    def add(self, name: str, producer: ProducerIdAndEpoch, where: TopicPartition, version: int = 3) -> Answer:
        answer = self.ask(
            _ADD_PARTITIONS,
            version,
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[Fields(name=where.topic, partitions=[where.partition])],
        )
        [topic] = answer["results_by_topic_v3_and_below"]
        return Answer(Code(topic["results_by_partition"][0]["partition_error_code"]))

    def add_batched(
        self, name: str, producer: ProducerIdAndEpoch, where: TopicPartition, version: int = 5, *, verify: bool = False
    ) -> Answer:
        transaction = Fields(
            transactional_id=name,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify,
            topics=[Fields(name=where.topic, partitions=[where.partition])],
        )
        answer = self.ask(_ADD_PARTITIONS, version, transactions=[transaction])
        [result] = answer["results_by_transaction"]
        return Answer(Code(result["topic_results"][0]["results_by_partition"][0]["partition_error_code"]))

    def add_offsets(self, name: str, producer: ProducerIdAndEpoch, group: str, version: int = 4) -> Answer:
        return Answer(
            _code(
                self.ask(
                    _ADD_OFFSETS,
                    version,
                    transactional_id=name,
                    producer_id=producer.producer_id,
                    producer_epoch=producer.epoch,
                    group_id=group,
                )
            )
        )

    def commit_offsets(
        self,
        name: str,
        producer: ProducerIdAndEpoch,
        group: str,
        where: TopicPartition,
        version: int = 5,
        *,
        offset: int = 1,
        member: Member = NO_MEMBER,
    ) -> Answer:
        answer = self.ask(
            _COMMIT_OFFSETS,
            version,
            transactional_id=name,
            group_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance,
            topics=offsets_of(where, offset),
        )
        return Answer(Code(answer["topics"][0]["partitions"][0]["error_code"]))

    def end(self, name: str, producer: ProducerIdAndEpoch, version: int = 5, *, commit: bool = True) -> Answer:
        answer = self.ask(
            _END,
            version,
            transactional_id=name,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        after = ProducerIdAndEpoch(answer.get("producer_id", -1), answer.get("producer_epoch", -1))
        return Answer(_code(answer), after)

    def produce(
        self,
        name: str | None,
        producer: ProducerIdAndEpoch,
        where: TopicPartition,
        sequence: int,
        version: int = 12,
        value: bytes = b"v",
        *,
        transactional: bool | None = None,
    ) -> Answer:
        """Of one record; transactional if it comes under an id, unless told otherwise."""
        now_ms = int(self.runtime.wall() * 1000)
        belongs = name is not None if transactional is None else transactional
        batch = encode_batch(None, [value], now_ms, producer=producer, base_sequence=sequence, transactional=belongs)
        request = producing([(*where, batch)], name)
        [found] = self.ask(_PRODUCE, version, **request)["responses"][0]["partition_responses"]
        return Answer(_code(found), offset=found["base_offset"])

    def mark(
        self, producer: ProducerIdAndEpoch, where: TopicPartition, coordinator_epoch: int, *, commit: bool = False
    ) -> Answer:
        marker = Fields(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            transaction_result=commit,
            topics=[Fields(name=where.topic, partition_indexes=[where.partition])],
            coordinator_epoch=coordinator_epoch,
        )
        answer = self.ask(_MARKERS, 1, markers=[marker])
        return Answer(Code(answer["markers"][0]["topics"][0]["partitions"][0]["error_code"]))

    # --- looking in

    def describe(self, name: str) -> tuple[str, ProducerIdAndEpoch]:
        """The state of a transactional id, with its holder."""
        [found] = self.ask(_DESCRIBE_TRANSACTIONS, 0, transactional_ids=[name])["transaction_states"]
        return found["transaction_state"], ProducerIdAndEpoch(found["producer_id"], found["producer_epoch"])

    def settled(self, name: str, *, unless: str | tuple[str, ...] = "Prepare") -> tuple[str, ProducerIdAndEpoch]:
        """The same, once no marker is under way."""
        deadline = self.runtime.now() + WAIT
        while True:
            state, producer = self.describe(name)
            if not state.startswith(unless):
                return state, producer
            if self.runtime.now() > deadline:
                raise TimeoutError(f"{name} stays in {state}")
            self.runtime.sleep(0.005)

    def writers(self, where: TopicPartition) -> list[Any]:
        """DescribeProducers: the producers of a partition."""
        wanted = Fields(name=where.topic, partition_indexes=[where.partition])
        answer = self.ask(_DESCRIBE_PRODUCERS, 0, topics=[wanted])
        writers: list[Any] = answer["topics"][0]["partitions"][0]["active_producers"]
        return writers

    # --- getting ready

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic and wait until its leader serves every partition."""
        wanted = Fields(name=topic, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
        answer = self.ask(_CREATE_TOPICS, 5, topics=[wanted], timeout=milliseconds(WAIT), validate_only=False)
        assert answer["topics"][0]["error_code"] == Code.NONE, answer
        self.wait_until_led(topic, partitions)

    def wait_until_led(self, topic: str, partitions: int) -> None:
        """A real Kafka tells of a partition, and opens its log, before it leads it.

        Only what is asked of leaders waits for that: ListOffsets does, DescribeProducers is content with a log.
        """
        wanted = [Fields(partition_index=each, current_leader_epoch=-1, timestamp=-1) for each in range(partitions)]

        def led() -> bool:
            topics = [Fields(name=topic, partitions=wanted)]
            [found] = self.ask(_LIST_OFFSETS, 6, replica_id=-1, isolation_level=0, topics=topics)["topics"]
            return all(each["error_code"] == Code.NONE for each in found["partitions"])

        self.until(led)

    def warm_up(self, name: str, where: TopicPartition) -> None:
        """Wait until the coordinators of an id and of a group of this name do their work; leave the id at rest."""
        for kind in (_GROUP, _TRANSACTION):
            self.until(lambda kind=kind: self._found(name, kind))  # type: ignore[misc]
        self.until(lambda: self.init(name).code not in NOT_YET)
        producer = self.init(name).producer
        self.until(lambda: self.commit_offsets(name, producer, name, where).code not in NOT_YET)
        self.end(name, producer, commit=False)
        self.settled(name)  # else whoever initialises the id next is told to come again

    def _found(self, name: str, kind: int) -> bool:
        [found] = self.ask(_FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=[name])["coordinators"]
        return bool(found["error_code"] == Code.NONE)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that the broker does in its own time."""
        deadline = self.runtime.now() + WAIT
        while not holds():
            if self.runtime.now() > deadline:
                raise TimeoutError("the broker did not get ready")
            self.runtime.sleep(0.005)


def commit_plain(
    caller: Caller, group: str, where: TopicPartition, offset: int, version: int = 8, member: Member = NO_MEMBER
) -> Answer:
    """OffsetCommit, outside of any transaction."""
    answer = caller.ask(
        _PLAIN_COMMIT,
        version,
        group_id=group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.member_id,
        group_instance_id=member.instance,
        topics=offsets_of(where, offset),
    )
    return Answer(Code(answer["topics"][0]["partitions"][0]["error_code"]))


def delete_before(caller: Caller, where: TopicPartition, offset: int) -> Answer:
    """DeleteRecords: take what lies before an offset from readers; -1 means all there is."""
    wanted = Fields(partition_index=where.partition, offset=offset)
    topics = [Fields(name=where.topic, partitions=[wanted])]
    answer = caller.ask(_DELETE_RECORDS, 2, topics=topics, timeout=milliseconds(WAIT))
    [found] = answer["topics"][0]["partitions"]
    return Answer(_code(found), offset=found["low_watermark"])


def _code(answer: Any) -> Code:
    return Code(int(answer["error_code"]))
