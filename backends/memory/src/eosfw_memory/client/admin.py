"""Ask a cluster about its topics over any transport."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from eosfw.errors import ClusterUnavailableError, EosfwError, FatalError, IllegalStateError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic, OpenTransaction
from eosfw_memory.client.apis import (
    CREATE_TOPICS,
    DESCRIBE_CONFIGS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    LIST_OFFSETS,
    LIST_TRANSACTIONS,
    Api,
    Fields,
    milliseconds,
)
from eosfw_memory.client.channel import ClosedError, NoAnswerError
from eosfw_memory.client.errors import ADMIN, MOVED, RETRIABLE, indefinite, ours
from eosfw_memory.client.group_offsets import GroupOffsets
from eosfw_memory.client.retrying import Patience
from eosfw_memory.client.routing import Routes, brokers_of
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer

_TOPIC, _BROKER = 2, 4
_EARLIEST, _LATEST = -2, -1
_NO_EPOCH, _CLIENT = -1, -1
_ISOLATION = {IsolationLevel.READ_UNCOMMITTED: 0, IsolationLevel.READ_COMMITTED: 1}
_NOTHING_OPEN = -1


class MemoryAdmin:
    """An `Admin` that speaks Kafka's protocol itself."""

    def __init__(self, timeout: float, routes: Routes) -> None:
        self._timeout = timeout
        self._routes = routes
        self._runtime = routes.runtime
        self._closed = False

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        answer: Any = self._routes.metadata(topics, self._patience())
        found = {each["name"]: each for each in answer["topics"] if each["error_code"] == Code.NONE}
        return {name: len(each["partitions"]) for name, each in found.items()}

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        patience = self._patience()
        if topics:
            self._create(topics, patience)
            ones = [TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)]
            # A broker may lead a partition by the metadata before it answers for it.
            self._offsets(ones, _LATEST, IsolationLevel.READ_UNCOMMITTED, patience, fresh=True)

    def topic_config(self, topic: str) -> Mapping[str, str]:
        return self._config(_TOPIC, topic, f"describe topic {topic!r}")

    def log_start_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._offsets(partitions, _EARLIEST, IsolationLevel.READ_UNCOMMITTED, self._patience())

    def end_offsets(
        self, partitions: Collection[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        return self._offsets(partitions, _LATEST, isolation, self._patience())

    def open_transactions(self, partitions: Collection[TopicPartition]) -> Sequence[OpenTransaction]:
        patience = self._patience()
        holders = self._holders(partitions, patience)
        names = self._names({producer.producer_id for _, producer, _ in holders}, patience) if holders else {}
        started = {name: self._started(name, patience) for name in names.values()}
        now = self._runtime.wall()
        found = []
        for where, producer, first_offset in holders:
            name = names.get(producer.producer_id, f"(unknown id of producer {producer.producer_id})")
            age = max(0.0, now - started.get(name, now))
            found.append(OpenTransaction(name, producer, where, first_offset, age))
        return found

    def group_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return GroupOffsets(self._routes).fetch(group_id, partitions, self._patience())

    def max_transaction_timeout(self) -> float | None:
        answer: Any = self._routes.metadata([], self._patience())
        brokers = brokers_of(answer)
        if not brokers:
            return None
        try:
            config = self._config(_BROKER, str(min(brokers)), "describe a broker", min(brokers))
        except FatalError as why:
            if isinstance(why, ClosedError):
                raise
            return None
        text = config.get("transaction.max.timeout.ms")
        return None if text is None else int(text) / 1000

    def close(self) -> None:
        self._closed = True
        self._routes.network.close()

    # --- topics

    def _create(self, topics: Sequence[NewTopic], patience: Patience) -> None:
        wanted = [
            Fields(
                name=topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=(),
                configs=[Fields(name=name, value=value) for name, value in topic.config.items()],
            )
            for topic in topics
        ]
        request = Fields(topics=wanted, timeout=milliseconds(patience.left()), validate_only=False)
        while True:
            answer = self._write(CREATE_TOPICS, request, "create topics", patience)
            failed = [each for each in answer["topics"] if each["error_code"] != Code.NONE]
            if not failed:
                return
            code = failed[0]["error_code"]
            if code not in RETRIABLE or not patience.again():
                what = self._what(f"create topic {failed[0]['name']!r}")
                raise ours(code, ADMIN, what, failed[0].get("error_message"))

    def _write(self, api: Api, request: Fields, what: str, patience: Patience) -> Any:
        """Ask any broker what may not be asked twice."""

        def call() -> Answer:
            try:
                return self._routes.network.any(patience.deadline).call(api, request, patience.deadline)
            except NoAnswerError as why:
                raise indefinite(self._what(what), why) from why

        return self._routes.insist(call, patience)

    def _config(self, kind: int, name: str, what: str, broker: int | None = None) -> Mapping[str, str]:
        resource = Fields(resource_type=kind, resource_name=name, configuration_keys=None)
        request = Fields(resources=[resource], include_synonyms=False, include_documentation=False)
        patience = self._patience()
        if broker is None:
            answer: Any = self._routes.ask(DESCRIBE_CONFIGS, request, patience)
        else:
            answer = self._of_broker(broker, DESCRIBE_CONFIGS, request, patience)
        found = answer["results"][0]
        if found["error_code"] != Code.NONE:
            raise ours(found["error_code"], ADMIN, self._what(what), found.get("error_message"))
        return {each["name"]: each["value"] for each in found["configs"] if each["value"] is not None}

    def _of_broker(self, broker: int, api: Api, request: Fields, patience: Patience) -> Any:
        """Ask one broker what only it can say."""
        metadata: Any = self._routes.metadata([], patience)
        address = brokers_of(metadata)[broker]
        channel = self._routes.network.at(address)
        return self._routes.insist(lambda: channel.call(api, request, patience.deadline), patience)

    # --- offsets

    def _offsets(
        self,
        partitions: Collection[TopicPartition],
        timestamp: int,
        isolation: IsolationLevel,
        patience: Patience,
        *,
        fresh: bool = False,
    ) -> Mapping[TopicPartition, int]:
        """Ask the leaders, until each has answered; a partition of a `fresh` topic may be unknown for a while."""
        found: dict[TopicPartition, int] = {}
        settled = self._runtime.now() + (self._timeout if fresh else self._routes.network.settling)
        while left := [one for one in partitions if one not in found]:
            failed: EosfwError | None = None
            for channel, ones in self._routes.by_leader(left, patience).items():
                request = _list_offsets(ones, timestamp, _ISOLATION[isolation])
                try:
                    answer: Any = channel.call(LIST_OFFSETS, request, patience.deadline)
                except ClusterUnavailableError as why:
                    failed = ClusterUnavailableError(f"{self._what('list offsets')}: {why}")
                    self._forget(ones)
                    continue
                failed = self._take(answer, found, settled) or failed
            if failed is not None and not patience.again():
                raise failed
        return found

    def _take(self, answer: Any, found: dict[TopicPartition, int], settled: float) -> EosfwError | None:
        """Note what an answer tells; give what may be tried again."""
        failed: EosfwError | None = None
        for topic in answer["topics"]:
            for each in topic["partitions"]:
                one, code = TopicPartition(topic["name"], each["partition_index"]), each["error_code"]
                if code == Code.NONE:
                    found[one] = each["offset"]
                    continue
                failed = ours(code, ADMIN, self._what(f"list offsets of {one}"))
                late = code == Code.UNKNOWN_TOPIC_OR_PARTITION and self._runtime.now() >= settled
                if code not in RETRIABLE or late:
                    raise failed
                if code in MOVED:
                    self._routes.forget(one.topic)
        return failed

    # --- transactions

    def _holders(
        self, partitions: Collection[TopicPartition], patience: Patience
    ) -> list[tuple[TopicPartition, ProducerIdAndEpoch, int]]:
        """Who has a transaction open in these partitions, since which offset."""
        found = []
        for channel, ones in self._routes.by_leader(partitions, patience).items():
            request = Fields(topics=_grouped(ones, lambda name, numbers: Fields(name=name, partition_indexes=numbers)))
            answer: Any = self._asked(channel.call, DESCRIBE_PRODUCERS, request, patience)
            for topic in answer["topics"]:
                for each in topic["partitions"]:
                    where = TopicPartition(topic["name"], each["partition_index"])
                    if each["error_code"] != Code.NONE:
                        raise ours(each["error_code"], ADMIN, self._what(f"describe the producers of {where}"))
                    found += [
                        (where, ProducerIdAndEpoch(one["producer_id"], one["producer_epoch"]), first)
                        for one in each["active_producers"]
                        if (first := one["current_txn_start_offset"]) != _NOTHING_OPEN
                    ]
        return found

    def _names(self, producer_ids: Collection[int], patience: Patience) -> Mapping[int, str]:
        """The transactional id of each producer id; every coordinator knows only its own."""
        request = Fields(state_filters=(), producer_id_filters=tuple(producer_ids), duration_filter=-1)
        metadata: Any = self._routes.metadata([], patience)
        names: dict[int, str] = {}
        for address in brokers_of(metadata).values():
            answer: Any = self._asked(self._routes.network.at(address).call, LIST_TRANSACTIONS, request, patience)
            if answer["error_code"] != Code.NONE:
                raise ours(answer["error_code"], ADMIN, self._what("list transactions"))
            names |= {each["producer_id"]: each["transactional_id"] for each in answer["transaction_states"]}
        return names

    def _started(self, transactional_id: str, patience: Patience) -> float:
        """When a transaction began, in seconds since 1970; now if it is over already."""
        request = Fields(transactional_ids=(transactional_id,))
        channel = self._routes.coordinator(transactional_id, patience)
        answer: Any = self._asked(channel.call, DESCRIBE_TRANSACTIONS, request, patience)
        found = answer["transaction_states"][0]
        began = found["transaction_start_time"]
        if found["error_code"] != Code.NONE or began is None or began == _NOTHING_OPEN:
            return self._runtime.wall()
        return began.timestamp() if isinstance(began, datetime) else began / 1000

    def _asked(
        self, call: Callable[[Api, Fields, float], Answer], api: Api, request: Fields, patience: Patience
    ) -> Answer:
        return self._routes.insist(lambda: call(api, request, patience.deadline), patience)

    # --- inside

    def _forget(self, ones: Collection[TopicPartition]) -> None:
        for topic in {one.topic for one in ones}:
            self._routes.forget(topic)

    def _patience(self) -> Patience:
        if self._closed:
            raise IllegalStateError("this admin client is closed")
        return Patience(self._runtime, self._runtime.now() + self._timeout)

    def _what(self, what: str) -> str:
        return f"{what} at {self._routes.network.servers}"


def _grouped(ones: Collection[TopicPartition], make: Callable[[str, list[int]], Fields]) -> list[Fields]:
    topics: dict[str, list[int]] = {}
    for topic, partition in ones:
        topics.setdefault(topic, []).append(partition)
    return [make(name, numbers) for name, numbers in topics.items()]


def _list_offsets(ones: Collection[TopicPartition], timestamp: int, isolation_level: int) -> Fields:
    def topic(name: str, numbers: list[int]) -> Fields:
        each = [Fields(partition_index=n, current_leader_epoch=_NO_EPOCH, timestamp=timestamp) for n in numbers]
        return Fields(name=name, partitions=each)

    return Fields(replica_id=_CLIENT, isolation_level=isolation_level, topics=_grouped(ones, topic))
