"""A backend that records the topics, groups and transactional ids it creates, so that they can be removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, ConsumerGroupMetadata, GroupConsumer, NewTopic
from pytest_eos.environment.clusters.cleanup import CreatedResources


class _Delegate:
    """Passes every call on to the real object."""

    def __init__(self, real: Any, made: CreatedResources) -> None:
        self.real, self._made = real, made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class RecordingBackend(_Delegate):
    """A backend that records topics, groups and transactional ids; all other calls go to the real one."""

    def admin(self, properties: Mapping[str, str] | None = None) -> Any:
        return _RecordingAdmin(self.real.admin(properties), self._made)

    def producer(self, transactional_id: str | None, **how: Any) -> Any:
        if transactional_id is not None:
            self._made.transactional_ids.add(transactional_id)
        return _RecordingProducer(self.real.producer(transactional_id, **how), self._made)

    def group_consumer(self, group_id: str, topic: str, **how: Any) -> GroupConsumer:
        self._made.groups.add(group_id)
        consumer: GroupConsumer = self.real.group_consumer(group_id, topic, **how)
        return consumer


class _RecordingAdmin(_Delegate):
    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        for topic in topics:  # one by one: if a request for several fails, it is unknown which of them were created
            self.real.create_topics([topic])
            self._made.topics.add(topic.name)


class _RecordingProducer(_Delegate):
    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timeout: float) -> None:
        self._made.groups.add(group.group_id)
        self.real.send_offsets(offsets, group, timeout)


def record_resources(backend: Backend, made: CreatedResources | None) -> Any:
    """A recording backend; the backend itself if nothing is to be recorded."""
    return backend if made is None else RecordingBackend(backend, made)
