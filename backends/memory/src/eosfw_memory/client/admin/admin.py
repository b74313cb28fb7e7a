"""The admin client (Kafka's `KafkaAdminClient`): topics, offsets, configurations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from eosfw.error_table import ADMIN, MOVED, RETRIABLE
from eosfw.errors import ClusterUnavailableError, EosfwError, FatalError, IllegalStateError
from eosfw.fence_producers_result import USUAL_OPTIONS, FenceProducersOptions, FenceProducersResult
from eosfw.ids import TopicPartition, uuid_text
from eosfw.lso_blockers import open_transactions
from eosfw.outcomes import outcomes
from eosfw.protocols import GroupDescription, IsolationLevel, MemberDescription, NewTopic, OpenTransaction
from eosfw.retry_timer import RetryTimer
from eosfw.security import FirstAuthentication, needs
from eosfw.transactions import (
    EVERY_TRANSACTION,
    ProducerState,
    TransactionDescription,
    TransactionFilters,
    TransactionListing,
)
from eosfw_memory.client.admin.fence_producers import FenceProducersHandler
from eosfw_memory.client.admin.transaction_admin import TransactionAdmin
from eosfw_memory.client.coordinator import Coordinator, CoordinatorRequest
from eosfw_memory.client.group_offsets import GroupOffsets
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType, brokers_of
from eosfw_memory.client.transport.apis import (
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_CONFIGS,
    DESCRIBE_GROUPS,
    LIST_OFFSETS,
    Api,
    Fields,
    group_by_topic,
    milliseconds,
)
from eosfw_memory.client.transport.channel import ClosedError, Network, NoAnswerError, NotRetriableError
from eosfw_memory.client.transport.errors import error_for, indefinite, unavailable
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import CONSUMER, decode_assignment

_TOPIC, _BROKER = 2, 4
_EARLIEST, _LATEST = -2, -1
_NO_EPOCH, _CLIENT = -1, -1
_ISOLATION = {IsolationLevel.READ_UNCOMMITTED: 0, IsolationLevel.READ_COMMITTED: 1}


class MemoryAdmin:
    """An `Admin` that speaks Kafka's protocol itself."""

    def __init__(self, timeout: float, make_metadata: Callable[[], ClusterMetadata]) -> None:
        self._timeout = timeout
        self._make_metadata = make_metadata
        self._metadata = make_metadata()
        self._runtime = self._metadata.runtime
        self._fencing: set[Network] = set()
        self._closed = False

    @property
    def authentication(self) -> FirstAuthentication:
        return self._metadata.authentication

    def cluster_id(self) -> str | None:
        answer: Any = self._metadata.fetch_metadata([], self._new_timer())
        return answer["cluster_id"] or None

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        answer: Any = self._metadata.fetch_metadata(topics, self._new_timer())
        found = {each["name"]: each for each in answer["topics"] if each["error_code"] == Code.NONE}
        return {name: len(each["partitions"]) for name, each in found.items()}

    @needs("topic", "Create")
    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        timer = self._new_timer()
        if topics:
            self._create(topics, timer)
            self._await_leaders(topics, timer)

    @needs("topic", "Delete")
    def delete_topics(self, topics: Collection[str]) -> Mapping[str, EosfwError | None]:
        timer = self._new_timer()
        found: dict[str, EosfwError | None] = {}
        while left := [name for name in dict.fromkeys(topics) if name not in found]:
            request = Fields(topic_names=tuple(left), timeout=milliseconds(timer.remaining()))
            # Repeated when its answer is lost, and may find a topic unknown then that it has just deleted.
            answer: Any = self._metadata.ask(DELETE_TOPICS, request, timer)
            for each in answer["responses"]:
                name, code = each["name"], each["error_code"]
                may_pass = code in RETRIABLE and code != Code.UNKNOWN_TOPIC_OR_PARTITION
                if not may_pass or not timer.remaining():
                    why = error_for(code, ADMIN, self._what(f"delete topic {name!r}"), each.get("error_message"))
                    found[name] = None if code == Code.NONE else why
                    self._metadata.forget(name)
            if any(name not in found for name in left):
                timer.backoff()
        return found

    @needs("group", "Delete")
    def delete_groups(self, group_ids: Collection[str]) -> Mapping[str, EosfwError | None]:
        groups, timer = GroupOffsets(self._metadata), self._new_timer()
        return outcomes(group_ids, lambda group_id: groups.delete(group_id, timer))

    @needs("topic", "DescribeConfigs")
    def topic_config(self, topic: str) -> Mapping[str, str]:
        return self._config(_TOPIC, topic, f"describe topic {topic!r}")

    @needs("topic", "Describe")
    def log_start_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        wanted = dict.fromkeys(partitions, _EARLIEST)
        return self._offsets(wanted, IsolationLevel.READ_UNCOMMITTED, self._new_timer())

    @needs("topic", "Describe")
    def end_offsets(
        self, partitions: Collection[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, _LATEST), isolation, self._new_timer())

    @needs("topic", "Describe")
    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int | None]:
        found = self._offsets(times, isolation, self._new_timer())
        return {one: None if offset < 0 else offset for one, offset in found.items()}

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        answer: Any = self._metadata.fetch_metadata(topics, self._new_timer())
        found = [each for each in answer["topics"] if each["error_code"] == Code.NONE]
        return {each["name"]: uuid_text(each.get("topic_id")) for each in found}

    def fence_producers(
        self, transactional_ids: Collection[str], options: FenceProducersOptions = USUAL_OPTIONS
    ) -> FenceProducersResult:
        self._new_timer()
        timer = RetryTimer(self._runtime, self._runtime.now() + (options.timeout or self._timeout))
        metadata = self._make_metadata()  # its own connections: fencing goes on while other threads use this client

        def fence(result: FenceProducersResult) -> None:
            self._fencing.add(metadata.network)
            try:
                FenceProducersHandler(metadata).fence(result, timer)
            finally:
                self._fencing.discard(metadata.network)
                metadata.network.close()

        return FenceProducersResult.of(transactional_ids, self._runtime, fence)

    def list_transactions(self, filters: TransactionFilters = EVERY_TRANSACTION) -> Sequence[TransactionListing]:
        return list(TransactionAdmin(self._metadata).list_transactions(filters, self._new_timer()))

    @needs("transactional-id", "Describe")
    def describe_transactions(
        self, transactional_ids: Collection[str]
    ) -> Mapping[str, TransactionDescription | EosfwError]:
        return TransactionAdmin(self._metadata).describe_transactions(transactional_ids, self._new_timer())

    @needs("topic", "Read")
    def describe_producers(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[ProducerState]]:
        return TransactionAdmin(self._metadata).describe_producers(partitions, self._new_timer())

    def abort_transaction(self, partition: TopicPartition, start_offset: int) -> ProducerState:
        return TransactionAdmin(self._metadata).abort_transaction(partition, start_offset, self._new_timer())

    def open_transactions(self, partitions: Collection[TopicPartition]) -> Sequence[OpenTransaction]:
        return open_transactions(self, partitions, self._runtime.wall())

    @needs("group", "Describe")
    def group_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return GroupOffsets(self._metadata).fetch(group_id, partitions, self._new_timer())

    @needs("group", "Describe")
    def describe_group(self, group_id: str) -> GroupDescription:
        fields = Fields(groups=(group_id,), include_authorized_operations=False)
        request = CoordinatorRequest(DESCRIBE_GROUPS, fields, ADMIN, _group_code, unavailable)
        answer = Coordinator(self._metadata, group_id, CoordinatorType.GROUP).ask(request, self._new_timer())
        found = answer["groups"][0]
        members = tuple(_member(each, found["protocol_type"]) for each in found["members"])
        return GroupDescription(group_id, found["group_state"], found["protocol_type"], members)

    def max_transaction_timeout(self) -> float | None:
        answer: Any = self._metadata.fetch_metadata([], self._new_timer())
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

    def broker_configs(self) -> Mapping[int, Mapping[str, str]]:
        """The properties of each broker by its number, by Kafka's names."""
        answer: Any = self._metadata.fetch_metadata([], self._new_timer())
        return {
            number: self._config(_BROKER, str(number), f"describe broker {number}", number)
            for number in sorted(brokers_of(answer))
        }

    def close(self) -> None:
        self._closed = True
        for network in (self._metadata.network, *self._fencing):
            network.close()

    # --- topics

    def _create(self, topics: Sequence[NewTopic], timer: RetryTimer) -> None:
        """Create topics; those that are refused for a moment are asked for again, without those that are there."""
        left = [_creatable(topic) for topic in topics]
        while left:
            request = Fields(topics=left, timeout=milliseconds(timer.remaining()), validate_only=False)
            answer = self._write(CREATE_TOPICS, request, "create topics", timer)
            failed = {each["name"]: each for each in answer["topics"] if each["error_code"] != Code.NONE}
            left = [topic for topic in left if topic.name in failed]
            lasting = [each for each in failed.values() if each["error_code"] not in RETRIABLE]
            if lasting or (left and not timer.backoff()):
                why = (lasting or [*failed.values()])[0]
                what = self._what(f"create topic {why['name']!r}")
                raise error_for(why["error_code"], ADMIN, what, why.get("error_message"))

    @needs("topic", "Describe")
    def _await_leaders(self, created: Sequence[NewTopic], timer: RetryTimer) -> None:
        counts = {topic.name: self._count(topic, timer) for topic in created}
        ones = [TopicPartition(name, number) for name, count in counts.items() for number in range(count)]
        # A broker may lead a partition by the metadata before it answers for it.
        self._offsets(dict.fromkeys(ones, _LATEST), IsolationLevel.READ_UNCOMMITTED, timer, fresh=True)

    def _count(self, created: NewTopic, timer: RetryTimer) -> int:
        """The partitions of a topic that was just created; the broker alone knows its default."""
        return self._metadata.partitions(created.name, timer) if created.partitions < 0 else created.partitions

    def _write(self, api: Api, request: Fields, what: str, timer: RetryTimer) -> Any:
        """Send a request that may be sent only once to any broker."""

        def call() -> Answer:
            try:
                return self._metadata.network.any(timer.deadline).call(api, request, timer.deadline)
            except NoAnswerError as why:
                raise indefinite(self._what(what), why) from why

        return self._metadata.retry(call, timer)

    def _config(self, kind: int, name: str, what: str, broker: int | None = None) -> Mapping[str, str]:
        resource = Fields(resource_type=kind, resource_name=name, configuration_keys=None)
        request = Fields(resources=[resource], include_synonyms=False, include_documentation=False)
        timer = self._new_timer()
        if broker is None:
            answer: Any = self._metadata.ask(DESCRIBE_CONFIGS, request, timer)
        else:  # which alone knows its own configuration
            metadata: Any = self._metadata.fetch_metadata([], timer)
            channel = self._metadata.network.at(brokers_of(metadata)[broker])
            answer = self._metadata.retry(lambda: channel.call(DESCRIBE_CONFIGS, request, timer.deadline), timer)
        found = answer["results"][0]
        if found["error_code"] != Code.NONE:
            raise error_for(found["error_code"], ADMIN, self._what(what), found.get("error_message"))
        return {each["name"]: each["value"] for each in found["configs"] if each["value"] is not None}

    # --- offsets

    def _offsets(
        self,
        times: Mapping[TopicPartition, int],
        isolation: IsolationLevel,
        timer: RetryTimer,
        *,
        fresh: bool = False,
    ) -> Mapping[TopicPartition, int]:
        """Ask the leaders until each has answered; a `fresh` topic may be unknown until the timeout of this client."""
        found: dict[TopicPartition, int] = {}
        known_by = self._runtime.now() + (self._timeout if fresh else self._metadata.network.propagation_timeout)
        while left := [one for one in times if one not in found]:
            failed: EosfwError | None = None
            for channel, ones in self._metadata.by_leader(left, timer).items():
                request = _list_offsets({one: times[one] for one in ones}, _ISOLATION[isolation])
                try:
                    answer: Any = channel.call(LIST_OFFSETS, request, timer.deadline)
                except ClusterUnavailableError as why:
                    failed = ClusterUnavailableError(f"{self._what('list offsets')}: {why}")
                    if isinstance(why, NotRetriableError):
                        raise failed from why
                    self._metadata.forget(*(one.topic for one in ones))
                    continue
                failed = self._take(answer, found, known_by) or failed
            if failed is not None and not timer.backoff():
                raise failed
        return found

    def _take(self, answer: Any, found: dict[TopicPartition, int], known_by: float) -> EosfwError | None:
        """Add the offsets of an answer to `found`; return the last error that may be tried again."""
        failed: EosfwError | None = None
        for topic in answer["topics"]:
            for each in topic["partitions"]:
                one, code = TopicPartition(topic["name"], each["partition_index"]), each["error_code"]
                if code == Code.NONE:
                    found[one] = each["offset"]
                    continue
                failed = error_for(code, ADMIN, self._what(f"list offsets of {one}"))
                late = code == Code.UNKNOWN_TOPIC_OR_PARTITION and self._runtime.now() >= known_by
                if code not in RETRIABLE or late:
                    raise failed
                if code in MOVED:
                    self._metadata.forget(one.topic)
        return failed

    # --- inside

    def _new_timer(self) -> RetryTimer:
        if self._closed:
            raise IllegalStateError("this admin client is closed")
        return RetryTimer(self._runtime, self._runtime.now() + self._timeout)

    def _what(self, what: str) -> str:
        return f"{what} at {self._metadata.network.servers}"


def _creatable(topic: NewTopic) -> Fields:
    return Fields(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=(),
        configs=[Fields(name=name, value=value) for name, value in topic.config.items()],
    )


def _list_offsets(times: Mapping[TopicPartition, int], isolation_level: int) -> Fields:
    def partition(one: TopicPartition) -> Fields:
        return Fields(partition_index=one.partition, current_leader_epoch=_NO_EPOCH, timestamp=times[one])

    def topic(name: str, numbers: list[int]) -> Fields:
        return Fields(name=name, partitions=[partition(TopicPartition(name, number)) for number in numbers])

    return Fields(replica_id=_CLIENT, isolation_level=isolation_level, topics=group_by_topic(times, topic))


def _member(found: Any, protocol_type: str) -> MemberDescription:
    """A member; Kafka shows a host with a slash before it."""
    owned = decode_assignment(found["member_assignment"]) if protocol_type == CONSUMER else frozenset()
    return MemberDescription(found["member_id"], found["client_id"], found["client_host"].removeprefix("/"), owned)


def _group_code(answer: Any) -> int:
    """The error code of an answer about one group; it is no error that a group is unknown: it is Dead."""
    code = int(answer["groups"][0]["error_code"])
    return Code.NONE if code == Code.GROUP_ID_NOT_FOUND else code
