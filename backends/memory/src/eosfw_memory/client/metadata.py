"""What one client knows of its cluster, as Kafka's `Metadata` does: leaders of partitions, coordinators of ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any

from eosfw.concurrency import Runtime
from eosfw.error_table import ADMIN, RETRIABLE
from eosfw.errors import ClusterUnavailableError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.retry_timer import RetryTimer
from eosfw.security import Address, FirstAuthentication
from eosfw_memory.client.transport.apis import FEATURES, FIND_COORDINATOR, METADATA, Api, Fields
from eosfw_memory.client.transport.channel import Channel, Network, NotRetriableError, UnsupportedServerError
from eosfw_memory.client.transport.errors import at_servers, error_for
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer

_TRANSACTION_VERSION, _FIRST_VERSION = "transaction.version", 1
_SOFTWARE, _SOFTWARE_VERSION = "eosfw", "1"


class CoordinatorType(IntEnum):
    """Kafka's `CoordinatorType`: the kinds of keys that FindCoordinator takes."""

    GROUP = 0
    TRANSACTION = 1


class ClusterMetadata:
    """The leaders and coordinators that one client object knows, looked up when they are needed.

    After `max_age` seconds the partitions of a topic are looked up again, as a topic that got more of them causes no
    error (Kafka's `metadata.max.age.ms`).
    """

    def __init__(
        self,
        network: Network,
        runtime: Runtime,
        authentication: FirstAuthentication,
        *,
        max_age: float,
        may_create: bool = False,
    ) -> None:
        self.network = network
        self.runtime = runtime
        self.authentication = authentication
        self._max_age = max_age
        self._may_create = may_create
        self._leaders: dict[str, Sequence[Address | None]] = {}
        self._learned_at: dict[str, float] = {}
        self._coordinators: dict[tuple[CoordinatorType, str], Address] = {}

    # --- requests to any broker

    def ask(self, api: Api, request: Fields, timer: RetryTimer) -> Answer:
        """Send a repeatable request to any broker; raise ClusterUnavailableError at the deadline."""
        return self.retry(lambda: self.network.any(timer.deadline).call(api, request, timer.deadline), timer)

    def retry(self, call: Callable[[], Answer], timer: RetryTimer) -> Answer:
        """Repeat a call until a broker answers it; raise at the deadline, or when another attempt would not help."""
        while True:
            try:
                return call()
            except NotRetriableError as why:
                raise type(why)(at_servers(self.network.servers, why)) from why
            except ClusterUnavailableError as why:
                if not timer.backoff():
                    said = at_servers(self.network.servers, why)
                    raise ClusterUnavailableError(f"{said}; is the cluster running?") from why

    def transaction_version(self, timer: RetryTimer) -> int:
        """The version of transactions that the cluster has finalized; from 2 on each has its own epoch (KIP-890)."""
        request = Fields(client_software_name=_SOFTWARE, client_software_version=_SOFTWARE_VERSION)
        try:
            answer: Any = self.ask(FEATURES, request, timer)
        except UnsupportedServerError:  # an older broker, or no broker, which the next request finds out
            return _FIRST_VERSION
        finalized = {each["name"]: each["max_version_level"] for each in answer.get("finalized_features") or ()}
        return int(finalized.get(_TRANSACTION_VERSION, _FIRST_VERSION))

    # --- topics

    def fetch_metadata(self, topics: Collection[str] | None, timer: RetryTimer) -> Answer:
        """The metadata of topics, or of all if None; the leaders in it are remembered."""
        wanted = None if topics is None else [Fields(name=name, topic_id=None) for name in topics]
        creates = self._may_create and topics is not None
        request = Fields(topics=wanted, allow_auto_topic_creation=creates, include_topic_authorized_operations=False)
        answer = self.ask(METADATA, request, timer)
        self._learn(answer)
        return answer

    def _learn(self, answer: Any) -> None:
        brokers = brokers_of(answer)
        for topic in answer["topics"]:
            if topic["error_code"] == Code.NONE:
                leaders = {each["partition_index"]: brokers.get(each["leader_id"]) for each in topic["partitions"]}
                self._leaders[topic["name"]] = [leaders.get(number) for number in range(len(leaders))]
                self._learned_at[topic["name"]] = self.runtime.now()
            elif topic["name"] is not None:
                self._leaders.pop(topic["name"], None)

    def partitions(self, topic: str, timer: RetryTimer) -> int:
        """The number of partitions of a topic; waits a moment for one that was just created."""
        if self.runtime.now() - self._learned_at.get(topic, 0.0) > self._max_age:
            self.forget(topic)
        return len(self._known(topic, timer))

    def leader(self, one: TopicPartition, timer: RetryTimer) -> Channel:
        """The channel to a partition's leader; raise UnknownTopicOrPartitionError if there is no such partition."""
        while True:
            leaders = self._known(one.topic, timer)
            if one.partition >= len(leaders):  # the topic may have got more partitions since
                self.forget(one.topic)
                leaders = self._known(one.topic, timer)
            if not 0 <= one.partition < len(leaders):
                raise UnknownTopicOrPartitionError(
                    f"{one} at {self.network.servers}: there is no such partition, the topic has {len(leaders)}"
                )
            found = leaders[one.partition]
            if found is not None:
                return self.network.at(found)
            self.forget(one.topic)
            if not timer.backoff():
                raise ClusterUnavailableError(f"{one} at {self.network.servers}: the partition has no leader")

    def by_leader(
        self, ones: Collection[TopicPartition], timer: RetryTimer
    ) -> Mapping[Channel, Sequence[TopicPartition]]:
        """Partitions grouped by the channel to their leader."""
        grouped: dict[Channel, list[TopicPartition]] = {}
        for one in ones:
            grouped.setdefault(self.leader(one, timer), []).append(one)
        return grouped

    def forget(self, *topics: str) -> None:
        """Forget the leaders of topics, so that the next call looks them up."""
        for topic in topics:
            self._leaders.pop(topic, None)

    def _known(self, topic: str, timer: RetryTimer) -> Sequence[Address | None]:
        known = self._leaders.get(topic)
        if known is not None:
            return known
        known_by = self.runtime.now() + self.network.propagation_timeout
        while True:
            answer: Any = self.fetch_metadata([topic], timer)
            known = self._leaders.get(topic)
            if known is not None:
                return known
            code = next((each["error_code"] for each in answer["topics"]), Code.UNKNOWN_TOPIC_OR_PARTITION)
            if code not in RETRIABLE or self.runtime.now() >= known_by or not timer.backoff():
                raise error_for(code, ADMIN, f"topic {topic!r} at {self.network.servers}")

    # --- coordinators

    def coordinator(self, name: str, timer: RetryTimer, kind: CoordinatorType = CoordinatorType.TRANSACTION) -> Channel:
        """The channel to the coordinator of a transactional id or a group."""
        return self.network.at(self.coordinator_address(name, timer, kind))

    def coordinator_address(
        self, name: str, timer: RetryTimer, kind: CoordinatorType = CoordinatorType.TRANSACTION
    ) -> Address:
        """The address of the coordinator of a transactional id or a group."""
        found = self._coordinators.get((kind, name))
        if found is None:
            found = self._coordinators[kind, name] = self._find_coordinator(name, timer, kind)
        return found

    def look_up_coordinators(self, transactional_ids: Sequence[str], timer: RetryTimer) -> None:
        """Look up many coordinators with one request; `coordinator` looks up those that the answer lacks."""
        kind = CoordinatorType.TRANSACTION
        unknown = [name for name in transactional_ids if (kind, name) not in self._coordinators]
        if unknown:
            answer: Any = self.ask(FIND_COORDINATOR, _find(unknown, kind), timer)
            found = {each["key"]: each for each in answer.get("coordinators") or ()}
            for name, each in found.items():
                if each["error_code"] == Code.NONE:
                    self._coordinators[kind, name] = Address(each["host"], each["port"])

    def forget_coordinator(self, name: str, kind: CoordinatorType = CoordinatorType.TRANSACTION) -> None:
        """Forget the coordinator of an id or a group, so that the next call looks it up."""
        self._coordinators.pop((kind, name), None)

    def _find_coordinator(self, name: str, timer: RetryTimer, kind: CoordinatorType) -> Address:
        request = _find([name], kind)
        while True:
            answer: Any = self.ask(FIND_COORDINATOR, request, timer)
            found = answer["coordinators"][0] if answer.get("coordinators") else answer
            if found["error_code"] == Code.NONE:
                return Address(found["host"], found["port"])
            if found["error_code"] not in RETRIABLE or not timer.backoff():
                what = f"find the coordinator of {name!r} at {self.network.servers}"
                raise error_for(found["error_code"], ADMIN, what, found.get("error_message"))


def _find(names: Sequence[str], kind: CoordinatorType) -> Fields:
    # Up to version 3 a request has one key, from 4 on many.
    return Fields(key=names[0], key_type=int(kind), coordinator_keys=tuple(names))


def brokers_of(metadata: Mapping[str, Any]) -> Mapping[int, Address]:
    """The address of each broker by its number."""
    return {each["node_id"]: Address(each["host"], each["port"]) for each in metadata["brokers"]}
