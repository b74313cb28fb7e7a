"""Ask a cluster about its topics through kafka-python's protocol layer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest
from kafka.protocol.metadata import CoordinatorType

from eosfw.closeables import WeakCloseables
from eosfw.error_table import RETRIABLE
from eosfw.errors import ClusterUnavailableError, EosfwError, FatalError, IllegalStateError
from eosfw.fence_producers_result import USUAL_OPTIONS, FenceProducersOptions, FenceProducersResult
from eosfw.ids import TopicPartition, uuid_text
from eosfw.kafka_codes import Code
from eosfw.lso_blockers import open_transactions
from eosfw.outcomes import outcomes
from eosfw.protocols import GroupDescription, IsolationLevel, NewTopic, OpenTransaction
from eosfw.retry_timer import RetryTimer
from eosfw.security import FirstAuthentication, needs
from eosfw.transactions import (
    EVERY_TRANSACTION,
    ProducerState,
    TransactionDescription,
    TransactionFilters,
    TransactionListing,
)
from eosfw_kafka_python.broker_lookup import BrokerLookup, by_topic
from eosfw_kafka_python.connection import ClosedError, Response
from eosfw_kafka_python.errors import ADMIN, TRANSACTIONS, eosfw_error, translated_errors
from eosfw_kafka_python.fence_producers_handler import FenceProducersHandler
from eosfw_kafka_python.group_description import group_code, group_description
from eosfw_kafka_python.transaction_queries import TransactionQueries

_TOPIC, _BROKER = 2, 4
_EARLIEST, _LATEST = -2, -1
_ISOLATION = {IsolationLevel.READ_UNCOMMITTED: 0, IsolationLevel.READ_COMMITTED: 1}
_PAUSE = 0.02
_BY_NAME = 5
"""The last version of DeleteTopics that names topics without ids."""
_SETTLING = 0.3
"""Seconds within which a broker may not know yet what another one has created."""


class KafkaPythonAdmin:
    """An `Admin` with deadlines, which the library's own admin client lacks."""

    def __init__(self, timeout: float, make_broker_lookup: Callable[[], BrokerLookup]) -> None:
        self._timeout = timeout
        self._make_broker_lookup = make_broker_lookup
        self._brokers = make_broker_lookup()
        self._runtime = self._brokers.runtime
        self._fencing = WeakCloseables(self._runtime)
        self._closed = False

    @property
    def authentication(self) -> FirstAuthentication:
        return self._brokers.connection.authentication

    def cluster_id(self) -> str | None:
        with translated_errors(ADMIN, self._what("describe the cluster")):
            return self._brokers.metadata([], self._deadline()).cluster_id or None

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        with translated_errors(ADMIN, self._what("list topics")):
            answer = self._brokers.metadata(topics, self._deadline())
        return {each.name: len(each.partitions) for each in answer.topics if each.error_code == Code.NONE}

    @needs("topic", "Create")
    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        if not topics:
            return
        deadline = self._deadline()
        with translated_errors(ADMIN, self._what("create topics")):
            self._create(topics, deadline)
            self._await_leaders(topics, deadline)

    @needs("topic", "Delete")
    def delete_topics(self, topics: Collection[str]) -> Mapping[str, EosfwError | None]:
        deadline = self._deadline()
        timer = self._timer(deadline)
        found: dict[str, EosfwError | None] = {}
        while left := [name for name in dict.fromkeys(topics) if name not in found]:
            with translated_errors(ADMIN, self._what(f"delete topics {', '.join(left)}")):
                # Repeated when its answer is lost, and may find a topic unknown then that it has just deleted.
                answer = self._brokers.connection.send_request(partial(self._deletion, left, deadline), deadline)
            late = not timer.backoff() if any(map(_may_pass, answer.responses)) else False
            for each in answer.responses:
                if late or not _may_pass(each):
                    gone = each.error_code == Code.NONE
                    found[each.name] = None if gone else self._failure(each, f"delete topic {each.name!r}")
        return found

    @needs("group", "Delete")
    def delete_groups(self, group_ids: Collection[str]) -> Mapping[str, EosfwError | None]:
        def delete(group_id: str) -> None:
            request = partial(DeleteGroupsRequest, groups_names=[group_id])
            self._ask_group(group_id, request, lambda answer: int(answer.results[0].error_code), "delete")

        return outcomes(group_ids, delete)

    @needs("topic", "DescribeConfigs")
    def topic_config(self, topic: str) -> Mapping[str, str]:
        return self._config(_TOPIC, topic, f"describe topic {topic!r}")

    @needs("topic", "Describe")
    def log_start_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, _EARLIEST), IsolationLevel.READ_UNCOMMITTED)

    @needs("topic", "Describe")
    def end_offsets(
        self, partitions: Collection[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, _LATEST), isolation)

    @needs("topic", "Describe")
    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int | None]:
        found = self._offsets(times, isolation)
        return {one: None if offset < 0 else offset for one, offset in found.items()}

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        with translated_errors(ADMIN, self._what("describe topics")):
            answer = self._brokers.metadata(topics, self._deadline())
        return {each.name: uuid_text(each.topic_id) for each in answer.topics if each.error_code == Code.NONE}

    def fence_producers(
        self, transactional_ids: Collection[str], options: FenceProducersOptions = USUAL_OPTIONS
    ) -> FenceProducersResult:
        deadline = self._deadline(options.timeout)
        brokers = self._make_broker_lookup()  # a connection of its own, since fencing goes on beside other calls

        def fence(result: FenceProducersResult) -> None:
            connection = self._fencing.add(brokers.connection)
            try:
                FenceProducersHandler(brokers).fence(result, deadline)
            finally:
                connection.close()

        return FenceProducersResult.of(transactional_ids, self._runtime, fence)

    def list_transactions(self, filters: TransactionFilters = EVERY_TRANSACTION) -> Sequence[TransactionListing]:
        with translated_errors(TRANSACTIONS, self._what("list transactions")):
            return list(self._transaction_queries().list_transactions(filters))

    @needs("transactional-id", "Describe")
    def describe_transactions(
        self, transactional_ids: Collection[str]
    ) -> Mapping[str, TransactionDescription | EosfwError]:
        with translated_errors(TRANSACTIONS, self._what("describe transactions")):
            return self._transaction_queries().describe_transactions(transactional_ids)

    @needs("topic", "Read")
    def describe_producers(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[ProducerState]]:
        with translated_errors(TRANSACTIONS, self._what("describe producers")):
            return self._transaction_queries().describe_producers(partitions)

    def abort_transaction(self, partition: TopicPartition, start_offset: int) -> ProducerState:
        with translated_errors(TRANSACTIONS, self._what(f"abort a transaction in {partition}")):
            return self._transaction_queries().abort_transaction(partition, start_offset)

    def open_transactions(self, partitions: Collection[TopicPartition]) -> Sequence[OpenTransaction]:
        return open_transactions(self, partitions, self._runtime.wall())

    @needs("group", "Describe")
    def group_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        if not partitions:
            return {}
        request = partial(_offset_fetch, group_id, partitions)
        answer = self._ask_group(group_id, request, _worst_fetch, "list the offsets of")
        return {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in answer.groups[0].topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    @needs("group", "Describe")
    def describe_group(self, group_id: str) -> GroupDescription:
        request = partial(DescribeGroupsRequest, groups=[group_id], include_authorized_operations=False)
        found = self._ask_group(group_id, request, group_code, "describe").groups[0]
        return group_description(found)

    def max_transaction_timeout(self) -> float | None:
        with translated_errors(ADMIN, self._what("list brokers")):
            brokers = self._brokers.metadata([], self._deadline()).brokers
        if not brokers:
            return None
        first = min(each.node_id for each in brokers)
        try:
            config = self._config(_BROKER, str(first), "describe a broker", first)
        except ClosedError:
            raise
        except FatalError:
            # Mostly a principal that may not describe brokers.
            return None
        text = config.get("transaction.max.timeout.ms")
        return None if text is None else int(text) / 1000

    def close(self) -> None:
        self._closed = True
        self._brokers.connection.close()
        self._fencing.close()

    # --- one call each

    def _ask_group(
        self, group_id: str, request: Callable[[], Any], code_of: Callable[[Response], int], what: str
    ) -> Response:
        """The answer of a group's coordinator."""
        named = self._what(f"{what} group {group_id!r}")
        with translated_errors(ADMIN, named):
            answer, _ = self._brokers.send_to_coordinator(
                request, (group_id, CoordinatorType.GROUP), self._deadline(), (ADMIN, code_of, named)
            )
        return answer

    def _deletion(self, topics: list[str], deadline: float) -> DeleteTopicsRequest:
        left = max(1, round((deadline - self._runtime.now()) * 1000))
        return DeleteTopicsRequest(topic_names=topics, timeout_ms=left, max_version=_BY_NAME)

    def _create(self, topics: Sequence[NewTopic], deadline: float) -> None:
        def request() -> CreateTopicsRequest:
            left = max(1, round((deadline - self._runtime.now()) * 1000))
            return CreateTopicsRequest(
                topics=[_creatable(topic) for topic in topics], timeout_ms=left, validate_only=False
            )

        timer = self._timer(deadline)
        while True:
            # Not repeated when its answer is lost: the second request would be told that the topic exists.
            answer = self._brokers.connection.send_request(request, deadline, once=True)
            failed = next((each for each in answer.topics if each.error_code != Code.NONE), None)
            if failed is None:
                return
            if failed.error_code not in RETRIABLE or not timer.backoff():
                raise self._failure(failed, f"create topic {failed.name!r}")

    @needs("topic", "Describe")
    def _await_leaders(self, created: Sequence[NewTopic], deadline: float) -> None:
        counts = {topic.name: self._count(topic, deadline) for topic in created}
        ones = [TopicPartition(name, number) for name, count in counts.items() for number in range(count)]
        # Metadata may name a leader before that broker answers for the partition.
        self._offsets(dict.fromkeys(ones, _LATEST), IsolationLevel.READ_UNCOMMITTED, settled=deadline)

    def _count(self, created: NewTopic, deadline: float) -> int:
        """The partitions of a topic that was just created; the cluster alone knows its default."""
        if created.partitions >= 0:
            return created.partitions
        timer = self._timer(deadline)
        while (count := self.partitions([created.name]).get(created.name)) is None:
            if not timer.backoff():
                raise ClusterUnavailableError(f"{self._what('create topics')}: {created.name} is not there yet")
        return count

    def _config(self, kind: int, name: str, what: str, node: int | None = None) -> Mapping[str, str]:
        def request() -> DescribeConfigsRequest:
            wanted = DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=None
            )
            return DescribeConfigsRequest(resources=[wanted], include_synonyms=False, include_documentation=False)

        deadline = self._deadline()
        timer = self._timer(deadline)
        with translated_errors(ADMIN, self._what(what)):
            while True:
                found = self._brokers.connection.send_request(request, deadline, node).results[0]
                if found.error_code == Code.NONE:
                    return {each.name: each.value for each in found.configs if each.value is not None}
                if found.error_code not in RETRIABLE or not timer.backoff():
                    raise self._failure(found, what)

    def _offsets(
        self,
        times: Mapping[TopicPartition, int],
        isolation: IsolationLevel,
        settled: float | None = None,
    ) -> Mapping[TopicPartition, int]:
        """Ask the leaders until each has answered; until `settled` a partition may be unknown."""
        deadline = self._deadline()
        settled = min(deadline, self._runtime.now() + _SETTLING) if settled is None else settled
        found: dict[TopicPartition, int] = {}
        with translated_errors(ADMIN, self._what("list offsets")):
            while left := [one for one in times if one not in found]:
                grouped, failed = self._brokers.by_leader(left, deadline)
                refused = dict(failed)
                for node, ones in grouped.items():
                    answer = self._brokers.connection.send_request(
                        partial(_list_offsets, {one: times[one] for one in ones}, isolation), deadline, node
                    )
                    _take(answer, found, refused)
                if refused:
                    self._raise_unless_passing(refused, settled, deadline)
        return found

    def _raise_unless_passing(self, refused: Mapping[TopicPartition, int], settled: float, deadline: float) -> None:
        for one, code in refused.items():
            passing = code in RETRIABLE
            if code == Code.UNKNOWN_TOPIC_OR_PARTITION:
                passing = self._runtime.now() < settled
            if not passing:
                raise eosfw_error(kafka_errors.for_code(code)(), ADMIN, self._what(f"list offsets of {one}"))
        if not self._timer(deadline).backoff():
            one, code = next(iter(refused.items()))
            raise eosfw_error(kafka_errors.for_code(code)(), ADMIN, self._what(f"list offsets of {one}"))

    # --- errors and deadlines

    def _timer(self, deadline: float) -> RetryTimer:
        return RetryTimer(self._runtime, deadline, pause=_PAUSE, longest=_PAUSE)

    def _failure(self, answer: Response, what: str) -> EosfwError:
        message = getattr(answer, "error_message", None)
        error = kafka_errors.for_code(answer.error_code)(*([message] if message else []))
        return eosfw_error(error, ADMIN, self._what(what))

    def _transaction_queries(self) -> TransactionQueries:
        return TransactionQueries(self._brokers, self._deadline())

    def _deadline(self, timeout: float | None = None) -> float:
        if self._closed:
            raise IllegalStateError("this admin client is closed")
        return self._runtime.now() + (timeout or self._timeout)

    def _what(self, what: str) -> str:
        return f"{what} at {self._brokers.connection.servers}"


def _may_pass(each: Response) -> bool:
    return each.error_code in RETRIABLE and each.error_code != Code.UNKNOWN_TOPIC_OR_PARTITION


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    kind = CreateTopicsRequest.CreatableTopic
    return kind(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=[],
        configs=[kind.CreatableTopicConfig(name=name, value=value) for name, value in topic.config.items()],
    )


def _list_offsets(times: Mapping[TopicPartition, int], isolation: IsolationLevel) -> ListOffsetsRequest:
    kind = ListOffsetsRequest.ListOffsetsTopic
    topics: dict[str, list[Any]] = {}
    for (topic, number), timestamp in times.items():
        each = kind.ListOffsetsPartition(partition_index=number, current_leader_epoch=-1, timestamp=timestamp)
        topics.setdefault(topic, []).append(each)
    message = [kind(name=name, partitions=each) for name, each in topics.items()]
    # The library would silently leave the isolation level out of a version below 2.
    return ListOffsetsRequest(replica_id=-1, isolation_level=_ISOLATION[isolation], topics=message, min_version=2)


def _take(answer: Response, found: dict[TopicPartition, int], refused: dict[TopicPartition, int]) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            one = TopicPartition(topic.name, each.partition_index)
            if each.error_code == Code.NONE:
                found[one] = each.offset
            else:
                refused[one] = each.error_code


def _offset_fetch(group_id: str, partitions: Collection[TopicPartition]) -> OffsetFetchRequest:
    kind = OffsetFetchRequest.OffsetFetchRequestGroup
    topics = by_topic(partitions)
    asked = [kind.OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics.items()]
    return OffsetFetchRequest(
        groups=[kind(group_id=group_id, topics=asked)], require_stable=True, min_version=8, max_version=8
    )


def _worst_fetch(answer: Response) -> int:
    group = answer.groups[0]
    codes = (each.error_code for topic in group.topics for each in topic.partitions if each.error_code)
    return int(group.error_code or next(codes, Code.NONE))
