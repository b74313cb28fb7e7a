"""Compare what is read of a data directory with what its killed broker held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.transaction_index import AbortedTxn
from eosfw_memory.storage.topics.topic import Topics

_END = 1 << 62


class _HeldTopic(NamedTuple):
    topic_id: UUID
    partitions: int
    config: Mapping[str, str]


class _HeldLog(NamedTuple):
    start: int
    batches: Sequence[bytes]
    aborted: Sequence[AbortedTxn]

    def is_in(self, found: _HeldLog | None) -> bool:
        """Whether a log begins with all of this one."""
        if found is None:
            return False
        aborted, batches = found.aborted[: len(self.aborted)], found.batches[: len(self.batches)]
        return (found.start, batches, aborted) == self


class HeldData(NamedTuple):
    """The topics of a broker, and what every reader can see of their logs."""

    topics: Mapping[str, _HeldTopic]
    logs: Mapping[TopicPartition, _HeldLog]

    @classmethod
    def of(cls, topics: Topics) -> HeldData:
        """Read all of it; raises a LogError where that is refused."""
        return cls(
            {topic.name: _HeldTopic(topic.topic_id, len(topic.partitions), topic.config) for topic in topics},
            {where: _held(log) for where, log in topics.logs().items()},
        )

    def check_kept(self, found: HeldData) -> None:
        """Raise DamagedDataError unless all of it is in what was found."""
        lost = [f"topic {name}" for name, topic in self.topics.items() if found.topics.get(name) != topic]
        lost += [f"partition {where}" for where, log in self.logs.items() if not log.is_in(found.logs.get(where))]
        if lost:
            raise DamagedDataError(f"{lost[0]} is not read as it was written: its wrong bytes were not noticed")


def _held(log: PartitionLog) -> _HeldLog:
    return _HeldLog(log.log_start_offset, list(log.batches()), log.state.aborted.ended_in(0, _END))
