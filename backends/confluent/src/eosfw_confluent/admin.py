"""Ask a cluster about its topics through librdkafka."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import OFFSET_INVALID, ConsumerGroupTopicPartitions, KafkaException, TopicCollection
from confluent_kafka import IsolationLevel as KafkaIsolation
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ClusterMetadata,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.admin import NewTopic as KafkaTopic  # type: ignore[attr-defined]

from eosfw.closeables import WeakCloseables
from eosfw.concurrency import Runtime
from eosfw.errors import (
    ClusterUnavailableError,
    ConfigError,
    EosfwError,
    FatalError,
    Problem,
    UnknownTopicOrPartitionError,
    UnsupportedError,
)
from eosfw.fence_producers_result import USUAL_OPTIONS, FenceProducersOptions, FenceProducersResult
from eosfw.ids import TopicPartition
from eosfw.protocols import GroupDescription, IsolationLevel, NewTopic, OpenTransaction
from eosfw.security import FirstAuthentication, needs, with_refusal
from eosfw.transactions import (
    EVERY_TRANSACTION,
    ProducerState,
    TransactionDescription,
    TransactionFilters,
    TransactionListing,
)
from eosfw_confluent.admin_calls import LEADER_POLL, AdminCalls, AdminSettings
from eosfw_confluent.errors import ADMIN, translated_errors
from eosfw_confluent.group_description import consumer_group_description, other_group_description
from eosfw_confluent.producer_takeover import ProducerTakeover

_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_URL_SAFE = str.maketrans("+/", "-_")
_ISOLATION = {
    IsolationLevel.READ_COMMITTED: KafkaIsolation.READ_COMMITTED,
    IsolationLevel.READ_UNCOMMITTED: KafkaIsolation.READ_UNCOMMITTED,
}


class ConfluentAdmin:
    """An `Admin` over one librdkafka handle."""

    def __init__(self, config: dict[str, Any], settings: AdminSettings, runtime: Runtime) -> None:
        self._calls = AdminCalls(config, settings, runtime)
        self._settings = settings
        self._runtime = runtime
        self._fencing = WeakCloseables(runtime)

    @property
    def authentication(self) -> FirstAuthentication:
        return self._settings.authentication

    def cluster_id(self) -> str | None:
        return self._metadata("describe the cluster").cluster_id or None

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        # A request for all topics creates none, even where a broker creates topics that a request names.
        known = self._metadata("list topics").topics
        return {
            name: len(topic.partitions)
            for name, topic in known.items()
            if topic.error is None and (topics is None or name in topics)
        }

    @needs("topic", "Create")
    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        if not topics:
            return
        wanted = [KafkaTopic(t.name, t.partitions, t.replication_factor, config=dict(t.config)) for t in topics]
        try:
            made = self._calls.call(
                lambda client, wait: client.create_topics(wanted, request_timeout=wait), "create topics"
            )
        except ValueError as limit:  # of librdkafka's own
            raise ConfigError(Problem("", f"create topics: {limit}")) from None
        for why in [self._calls.outcome(future, f"create topic {topic!r}") for topic, future in made.items()]:
            if isinstance(why, EosfwError):
                raise why
        counts = self._await_leaders({topic.name: topic.partitions for topic in topics})
        made_of = [TopicPartition(name, number) for name, count in counts.items() for number in range(count)]
        ask = partial(self._offsets, dict.fromkeys(made_of, _LATEST), IsolationLevel.READ_UNCOMMITTED)
        # Metadata may name a leader before that broker answers for the partition.
        self._calls.retry_until_deadline(ask, UnknownTopicOrPartitionError)

    @needs("topic", "Delete")
    def delete_topics(self, topics: Collection[str]) -> Mapping[str, EosfwError | None]:
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        asked = self._calls.call(
            lambda client, wait: client.delete_topics(names, request_timeout=wait), "delete topics"
        )
        return {name: self._calls.outcome(asked[name], f"delete topic {name!r}") for name in names}

    @needs("group", "Delete")
    def delete_groups(self, group_ids: Collection[str]) -> Mapping[str, EosfwError | None]:
        names = list(dict.fromkeys(group_ids))
        if not names:
            return {}
        return self._calls.coordinator_outcomes(
            lambda client, wait: client.delete_consumer_groups(names, request_timeout=wait),
            "delete group",
            self._settings.timeout,
        )

    @needs("topic", "DescribeConfigs")
    def topic_config(self, topic: str) -> Mapping[str, str]:
        return self._config(ConfigResource(ResourceType.TOPIC, topic), f"describe topic {topic!r}")

    @needs("topic", "Describe")
    def log_start_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        wanted = dict.fromkeys(partitions, _EARLIEST)
        return self._calls.retry_until_deadline(lambda: self._offsets(wanted, IsolationLevel.READ_UNCOMMITTED))

    @needs("topic", "Describe")
    def end_offsets(
        self, partitions: Collection[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        wanted = dict.fromkeys(partitions, _LATEST)
        return self._calls.retry_until_deadline(lambda: self._offsets(wanted, isolation))

    @needs("topic", "Describe")
    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int | None]:
        wanted = {one: OffsetSpec.for_timestamp(time) for one, time in times.items()}
        found = self._calls.retry_until_deadline(lambda: self._offsets(wanted, isolation))
        return {one: None if offset < 0 else offset for one, offset in found.items()}

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return self._calls.retry_until_deadline(lambda: self._topic_ids(list(dict.fromkeys(topics)))) if topics else {}

    def fence_producers(
        self, transactional_ids: Collection[str], options: FenceProducersOptions = USUAL_OPTIONS
    ) -> FenceProducersResult:
        self._calls.open()
        self._settings.authentication.require()
        fencing = self._fencing.add(ProducerTakeover(self._settings.make_producer, self._runtime))
        deadline = self._runtime.now() + (options.timeout or self._settings.timeout)
        return FenceProducersResult.of(transactional_ids, self._runtime, lambda result: fencing.fence(result, deadline))

    def list_transactions(self, filters: TransactionFilters = EVERY_TRANSACTION) -> Sequence[TransactionListing]:
        raise _unsupported("list transactions")

    def describe_transactions(
        self, transactional_ids: Collection[str]
    ) -> Mapping[str, TransactionDescription | EosfwError]:
        raise _unsupported("describe transactions")

    def describe_producers(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[ProducerState]]:
        raise _unsupported("describe producers")

    def abort_transaction(self, partition: TopicPartition, start_offset: int) -> ProducerState:
        raise _unsupported("abort a transaction in one partition", "abort_transactions")

    def open_transactions(self, partitions: Collection[TopicPartition]) -> Sequence[OpenTransaction]:
        raise _unsupported("tell whose transaction is open")

    @needs("group", "Describe")
    def group_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return (
            self._calls.ask_coordinator(lambda wait: self._group_offsets(group_id, partitions, wait))
            if partitions
            else {}
        )

    @needs("group", "Describe")
    def describe_group(self, group_id: str) -> GroupDescription:
        return self._calls.ask_coordinator(lambda wait: self._describe_group(group_id, wait))

    def _describe_group(self, group_id: str, wait: float) -> GroupDescription:
        found = self._calls.coordinator_outcomes(
            lambda client, timeout: client.describe_consumer_groups([group_id], request_timeout=timeout),
            "describe group",
            wait,
        )[group_id]
        if isinstance(found, ConfigError):  # it is no group of consumers
            what = f"describe group {group_id!r}"
            return self._calls.call(lambda client, _: other_group_description(client, group_id, wait), what)
        if isinstance(found, EosfwError):
            raise found
        return consumer_group_description(found)

    def max_transaction_timeout(self) -> float | None:
        brokers = self._metadata("list brokers").brokers
        if not brokers:
            return None
        try:
            config = self._config(ConfigResource(ResourceType.BROKER, str(min(brokers))), "describe a broker")
        except FatalError:
            # Mostly a principal that may not describe brokers.
            return None
        text = config.get("transaction.max.timeout.ms")
        return None if text is None else int(text) / 1000

    def close(self) -> None:
        self._calls.close()
        self._fencing.close()

    # --- requests

    def _group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition], wait: float
    ) -> Mapping[TopicPartition, int]:
        asked = ConsumerGroupTopicPartitions(group_id, [KafkaPartition(one.topic, one.partition) for one in partitions])
        what = "list the offsets of group"
        found: ConsumerGroupTopicPartitions | EosfwError = self._calls.coordinator_outcomes(
            lambda client, timeout: client.list_consumer_group_offsets(
                [asked], require_stable=True, request_timeout=timeout
            ),
            what,
            wait,
        )[group_id]
        if isinstance(found, EosfwError):
            raise found
        committed: dict[TopicPartition, int] = {}
        for one in found.topic_partitions or ():
            with translated_errors(ADMIN, self._calls.describe(f"{what} {group_id!r}")):
                if one.error is not None:
                    raise KafkaException(one.error)
            if one.offset >= 0:
                committed[TopicPartition(one.topic, one.partition)] = one.offset
        return committed

    @needs("topic", "Describe")
    def _topic_ids(self, topics: list[str]) -> Mapping[str, str]:
        asked = self._calls.call(
            lambda client, wait: client.describe_topics(TopicCollection(topics), request_timeout=wait),
            "describe topics",
        )
        found: dict[str, str] = {}
        for name, future in asked.items():
            with suppress(UnknownTopicOrPartitionError):
                # librdkafka writes it in the base64 that has + and /.
                found[name] = str(self._calls.result(future, f"describe topic {name!r}").topic_id).translate(_URL_SAFE)
        return found

    def _offsets(
        self, wanted: Mapping[TopicPartition, OffsetSpec], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        if not wanted:
            return {}
        self._calls.learn_brokers("list offsets")
        try:
            return self._ask_offsets(wanted, isolation)
        except UnknownTopicOrPartitionError:
            # librdkafka takes a topic that it knows for complete until that is described. This also raises for a topic
            # that exists and may not be described.
            self._topic_ids(sorted({one.topic for one in wanted}))
            return self._ask_offsets(wanted, isolation)

    def _ask_offsets(
        self, wanted: Mapping[TopicPartition, OffsetSpec], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        asked = {KafkaPartition(one.topic, one.partition): spec for one, spec in wanted.items()}
        level = _ISOLATION[isolation]
        found = self._calls.call(
            lambda client, timeout: client.list_offsets(asked, isolation_level=level, request_timeout=timeout),
            "list offsets",
        )
        answers = {TopicPartition(one.topic, one.partition): future for one, future in found.items()}
        offsets = {one: self._calls.result(future, f"list offsets of {one}").offset for one, future in answers.items()}
        # librdkafka (2.16) reports no error for partitions whose leader did not answer in time.
        if OFFSET_INVALID in offsets.values():
            raise self._calls.unanswered("list offsets")
        return offsets

    def _config(self, resource: ConfigResource, what: str) -> Mapping[str, str]:
        found = self._calls.call(
            lambda client, timeout: client.describe_configs([resource], request_timeout=timeout), what
        )
        entries: Mapping[str, Any] = self._calls.result(found[resource], what)
        return {name: entry.value for name, entry in entries.items() if entry.value is not None}

    def _metadata(self, what: str) -> ClusterMetadata:
        try:
            self._calls.learn_brokers(what)
            return self._calls.metadata(what)
        except ClusterUnavailableError as why:
            raise with_refusal(why, self.authentication) from why.__cause__

    def _await_leaders(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """Wait until every partition has a leader; return how many there are, where -1 are wanted as well."""
        deadline = self._runtime.now() + self._settings.timeout
        while lacking := list(_without_leader(metadata := self._metadata("list topics"), wanted)):
            with suppress(ClusterUnavailableError):  # which may pass until the deadline
                self._topic_ids(lacking)  # raises if a topic only may not be described
            if self._runtime.now() >= deadline:
                raise ClusterUnavailableError(
                    f"{self._calls.describe('create topics')}: no leader for {', '.join(lacking)}"
                )
            self._runtime.sleep(LEADER_POLL)
        return {name: len(metadata.topics[name].partitions) for name in wanted}


def _unsupported(what: str, capability: str = "describe_transactions") -> UnsupportedError:
    return UnsupportedError(
        f"the confluent backend cannot {what}: librdkafka has no such request. Use a backend with the capability "
        f"{capability}, which may be another client of the same cluster; `eosfw txn` picks one by itself"
    )


def _without_leader(metadata: ClusterMetadata, wanted: Mapping[str, int]) -> Iterable[str]:
    for name, count in wanted.items():
        topic = metadata.topics.get(name)
        led = 0 if topic is None else sum(one.leader >= 0 for one in topic.partitions.values())
        # The cluster alone knows its own number of partitions (-1); metadata has all of a topic, or none.
        if topic is None or led < (max(1, len(topic.partitions)) if count < 0 else count):
            yield name
