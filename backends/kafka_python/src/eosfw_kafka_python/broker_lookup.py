"""Find the broker that leads a partition or coordinates a key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from eosfw.error_table import RETRIABLE, ErrorTable
from eosfw.ids import TopicPartition
from eosfw.kafka_codes import Code
from eosfw.retry_timer import RetryTimer
from eosfw_kafka_python.connection import Connection, Request, Response
from eosfw_kafka_python.errors import code_of, eosfw_error

_PAUSE = 0.02
_BATCHED = 4
"""From this version on one FindCoordinator request takes many keys (KIP-699)."""


class BrokerLookup:
    """Looks up leaders and coordinators for each call, since a call is mostly repeated because one has moved."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.runtime = connection.runtime

    def metadata(self, topics: Collection[str] | None, deadline: float) -> Response:
        """The metadata of some topics, or of all; the request creates none."""
        wanted = MetadataRequest.ALL_TOPICS
        if topics is not None:
            wanted = [MetadataRequest.MetadataRequestTopic(name=each) for each in topics] or MetadataRequest.NO_TOPICS
        answer = self.connection.send_request(
            lambda: MetadataRequest(topics=wanted, allow_auto_topic_creation=False), deadline
        )
        self.connection.update_metadata(answer)
        return answer

    def by_leader(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> tuple[Mapping[int, list[TopicPartition]], Mapping[TopicPartition, int]]:
        """The partitions by the broker that leads them; those without leader with an error code."""
        answer = self.metadata({one.topic for one in partitions}, deadline)
        leaders, refused = _leaders(answer)
        grouped: dict[int, list[TopicPartition]] = {}
        lacking: dict[TopicPartition, int] = {}
        for one in partitions:
            if one in leaders:
                grouped.setdefault(leaders[one], []).append(one)
            else:
                lacking[one] = refused.get(one) or refused.get(one.topic) or Code.UNKNOWN_TOPIC_OR_PARTITION
        return grouped, lacking

    def coordinators(
        self, keys: Iterable[str], kind: CoordinatorType, deadline: float
    ) -> Mapping[str, str | kafka_errors.KafkaError]:
        """The node name of the coordinator of each transactional id or group, or the error that was answered."""
        wanted = list(keys)
        request = FindCoordinatorRequest(
            key=wanted[0], key_type=kind.value, coordinator_keys=wanted, min_version=_BATCHED if wanted[1:] else 0
        )
        answer = self.connection.send_request(lambda: request, deadline)
        rows = {row.key: row for row in answer.coordinators or ()} or {wanted[0]: answer}
        found: dict[str, str | kafka_errors.KafkaError] = {}
        for key in wanted:
            try:
                found[key] = self.connection.add_coordinator(rows[key], kind, key)
            except kafka_errors.KafkaError as why:
                found[key] = why
        return found

    def send_to_coordinator(
        self,
        request: Callable[[], Request],
        whom: tuple[str, CoordinatorType],
        deadline: float,
        judging: tuple[ErrorTable, Callable[[Response], int], str],
    ) -> tuple[Response, int]:
        """Send a request to a key's coordinator until it answers without error; also return the broker's number."""
        table, judge, what = judging
        timer = RetryTimer(self.runtime, deadline, pause=_PAUSE, longest=_PAUSE)
        while True:
            (found,) = self.coordinators([whom[0]], whom[1], deadline).values()
            why: kafka_errors.KafkaError
            if isinstance(found, kafka_errors.KafkaError):
                why = found
            else:
                answer = self.connection.send_request(request, deadline, found)
                code = judge(answer)
                if code == Code.NONE:
                    return answer, number_of(found)
                why = kafka_errors.for_code(code)()
            if code_of(why) not in RETRIABLE or not timer.backoff():
                raise eosfw_error(why, table, what)


def number_of(coordinator: str) -> int:
    """The broker's number in the node name of a coordinator."""
    return int(coordinator.rpartition("-")[2])


def by_topic(ones: Collection[TopicPartition]) -> Mapping[str, list[int]]:
    """Partition numbers by topic, as requests take them."""
    topics: dict[str, list[int]] = {}
    for topic, number in ones:
        topics.setdefault(topic, []).append(number)
    return topics


def _leaders(answer: Response) -> tuple[dict[TopicPartition, int], dict[Any, int]]:
    leaders: dict[TopicPartition, int] = {}
    refused: dict[Any, int] = {}
    for topic in answer.topics:
        if topic.error_code != Code.NONE:
            refused[topic.name] = topic.error_code
        for each in topic.partitions or ():
            one = TopicPartition(topic.name, each.partition_index)
            if each.leader_id >= 0:
                leaders[one] = each.leader_id
            else:
                refused[one] = Code.LEADER_NOT_AVAILABLE
    return leaders, refused
