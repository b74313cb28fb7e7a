"""A coordinator over a log in a list, for tests of the coordinator alone."""

from __future__ import annotations

import itertools

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.transaction_coordinator import CoordinatorConfig, TransactionCoordinator
from eosfw_memory.server.coordinators.transaction_log_records import decode_key, decode_value, encode_key, encode_value
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.storage.records.transaction_result import TransactionResult

FLIGHTS_0 = TopicPartition("flights", 0)
FLIGHTS_1 = TopicPartition("flights", 1)


class ListLog:
    """Keeps encoded records, so that every test also passes through the bytes."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.broken = False
        self.unwritable: set[str] = set()

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        if self.broken or transactional_id in self.unwritable:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
        self.records.append((encode_key(transactional_id), None if metadata is None else encode_value(metadata)))

    def epoch_of(self, transactional_id: str) -> int:
        return 0

    def replay(self):
        for key, value in self.records:
            name = decode_key(key)
            yield name, None if value is None else decode_value(name, value)

    def states(self) -> list[str]:
        return [metadata.state.label for _, metadata in self.replay()]


class CoordinatorHarness:
    """A coordinator with its log, the markers it wrote, a clock."""

    def __init__(self, log: ListLog | None = None, *, next_producer_id: int = 1000, version: int = 1) -> None:
        self.log = log or ListLog()
        self.markers: list[tuple[TopicPartition, ProducerIdAndEpoch, TransactionResult]] = []
        self.now_ms = 1_000_000
        self.coordinator = TransactionCoordinator(
            self.log, self._write, itertools.count(next_producer_id), CoordinatorConfig(version=version)
        )
        self.unwritable: set[TopicPartition] = set()

    def _write(self, where, marker):
        if where in self.unwritable:
            raise KafkaError(Code.NOT_LEADER_OR_FOLLOWER)
        self.markers.append((where, marker.producer, marker.result))

    def init(self, name="t", expected=None, timeout_ms=60_000) -> ProducerIdAndEpoch | Code:
        return self._tried(lambda: self.coordinator.initialise(name, timeout_ms, expected, self.now_ms))

    def add(self, producer, *partitions, name="t") -> Code:
        wanted = partitions or (FLIGHTS_0,)
        return self._tried(lambda: self.coordinator.add_partitions(name, producer, wanted, self.now_ms)) or Code.NONE

    def end(self, producer, outcome=TransactionResult.COMMIT, name="t") -> Code:
        return self._tried(lambda: self.coordinator.end(name, producer, outcome, self.now_ms)) or Code.NONE

    def end_with_epoch_bump(self, producer, outcome=TransactionResult.COMMIT, name="t") -> ProducerIdAndEpoch | Code:
        return self._tried(lambda: self.coordinator.end_with_epoch_bump(name, producer, outcome, self.now_ms))

    def finish(self) -> None:
        self.coordinator.markers.complete_all(self.now_ms)

    def run(self, producer, outcome=TransactionResult.COMMIT) -> None:
        assert (self.add(producer), self.end(producer, outcome)) == (Code.NONE, Code.NONE)
        self.finish()

    def known(self, name="t") -> TransactionMetadata:
        found = self.coordinator.describe(name)
        assert found is not None
        return found

    @staticmethod
    def _tried(action):
        try:
            return action()
        except KafkaError as refused:
            return refused.code
