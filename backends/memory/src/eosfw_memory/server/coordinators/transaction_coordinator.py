"""Decide what requests do to transactions. Kafka's `TransactionCoordinator`.

Whatever changes is logged before it counts, so the log alone rebuilds the coordinator. An end is answered once Prepare
is logged; markers, then Complete, follow when `markers.complete_all` is called. Callers hold the broker's lock; nothing
here blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators import decisions
from eosfw_memory.server.coordinators.decisions import Decision
from eosfw_memory.server.coordinators.transaction_marker_channel import TransactionMarkerChannel, WriteMarker
from eosfw_memory.server.coordinators.transaction_metadata import TV_0, TV_2, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import COMPLETED
from eosfw_memory.server.coordinators.transaction_state_manager import TransactionLog, TransactionStateManager
from eosfw_memory.storage.records.transaction_result import TransactionResult


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """The properties of a broker that bind its coordinator, with Kafka's defaults."""

    max_timeout_ms: int = 900_000
    """`transaction.max.timeout.ms`."""
    id_expiration_ms: int = 604_800_000
    """`transactional.id.expiration.ms`."""
    version: int = TV_2
    """The feature `transaction.version`: 2 raises the epoch whenever the coordinator itself ends a transaction, too."""


class TransactionCoordinator:
    """Runs every transaction from its first partition to its decision; `markers` completes it."""

    def __init__(
        self,
        log: TransactionLog,
        write_marker: WriteMarker,
        producer_ids: Iterator[int],
        config: CoordinatorConfig,
    ) -> None:
        self.state = TransactionStateManager(log)
        self.markers = TransactionMarkerChannel(self.state, write_marker)
        self._producer_ids = producer_ids
        self._config = config

    def load(self) -> None:
        """Rebuild what is known from the log; decided transactions wait for their markers again (COR-14)."""
        self.state.load()
        self.markers.load()

    # --- requests

    def initialise(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int
    ) -> ProducerIdAndEpoch:
        """Give the id to a new holder; raises ConcurrentTransactions while an older transaction is being ended."""
        known = self._known_or_none(transactional_id)
        if not 0 < timeout_ms <= self._config.max_timeout_ms:
            raise KafkaError(Code.INVALID_TRANSACTION_TIMEOUT)
        if known is None:
            known = decisions.new_metadata(transactional_id, self.fresh_producer_id(), timeout_ms)
        decided = decisions.initialise(
            known, expected, timeout_ms, now_ms, self.fresh_producer_id, self._config.version
        )
        after = self._apply(transactional_id, decided, now_ms)
        # An older transaction was just aborted to fence its holder: the client asks again until that is complete.
        if after.state in COMPLETED:
            raise KafkaError(Code.CONCURRENT_TRANSACTIONS)
        return after.producer

    def fresh_producer_id(self) -> int:
        """A producer id nobody had before."""
        return next(self._producer_ids)

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        now_ms: int,
        client_version: int = TV_0,
    ) -> None:
        """Let the holder's transaction touch more partitions."""
        known = self._known_or_none(transactional_id)
        decided = decisions.add_partitions(known, producer, frozenset(partitions), now_ms, client_version)
        self._apply(transactional_id, decided, now_ms)

    def end(self, transactional_id: str, producer: ProducerIdAndEpoch, result: TransactionResult, now_ms: int) -> None:
        """Decide the holder's transaction for good; returns once Prepare is logged (COR-09)."""
        known = self._known_or_none(transactional_id)
        self._apply(transactional_id, decisions.end(known, producer, result, now_ms), now_ms)

    def end_with_epoch_bump(
        self, transactional_id: str, producer: ProducerIdAndEpoch, result: TransactionResult, now_ms: int
    ) -> ProducerIdAndEpoch:
        """Decide the holder's transaction for good; give the epoch that the holder continues with (KIP-890)."""
        known = self._known_or_none(transactional_id)
        decided = decisions.end_with_epoch_bump(known, producer, result, now_ms, self.fresh_producer_id)
        after = self._apply(transactional_id, decided, now_ms)
        # After the last epoch the holder goes on with a new producer id, which the metadata show only once Complete.
        return decisions.prepare_complete(after, now_ms).producer if after.state in COMPLETED else after.producer

    def verify(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, Code]:
        """The code for each partition: whether a write there belongs to the ongoing transaction (KIP-890)."""
        return decisions.verify(self._known_or_none(transactional_id), producer, partitions)

    def describe(self, transactional_id: str) -> TransactionMetadata | None:
        """What is known about an id."""
        return self.state.get(transactional_id)

    def transactions(self) -> list[TransactionMetadata]:
        """What is known about every id."""
        return self.state.all()

    def is_ending(self, transactional_id: str) -> bool:
        """Whether a transaction of the id is decided and not complete, so that its next one has to wait."""
        known = self.state.get(transactional_id)
        return known is not None and known.state in COMPLETED

    # --- what no client asks for

    def abort_timed_out(self, now_ms: int) -> list[str]:
        """Abort every transaction that is open beyond its timeout, fencing its holder; name them (COR-15).

        Where that cannot be logged the next call tries the same again.
        """
        aborted = []
        for late in (known for known in self.state.all() if known.expired(now_ms)):
            with suppress(KafkaError):
                decided = decisions.prepare_fence_producer_epoch(
                    late, now_ms, self._config.version, self.fresh_producer_id
                )
                self._apply(late.transactional_id, decided, now_ms)
                aborted.append(late.transactional_id)
        return aborted

    def fence_all(self, now_ms: int) -> list[str]:
        """Fence the holder of every id, even one in an epoch that the log does not know; name the ids."""
        every = self.state.all()
        for known in every:
            after = decisions.fenced_with_new_producer_id(known, self.fresh_producer_id(), now_ms, self._config.version)
            self.state.apply(known.transactional_id, after, now_ms)
            # One that was decided before waits for its markers already.
            if after.state in COMPLETED and known.state not in COMPLETED:
                self.markers.add(known.transactional_id)
        return [each.transactional_id for each in every]

    def expire(self, now_ms: int) -> list[str]:
        """Forget every id that nobody used for long, but never an open transaction; name them (COR-16).

        Each has a tombstone of its own, so that no number of them makes a batch too large (KAFKA-13099).
        """
        unused = self.state.unused_since(now_ms - self._config.id_expiration_ms)
        return [name for name in unused if self.state.remove(name, now_ms)]

    # --- inside

    def _known_or_none(self, transactional_id: str) -> TransactionMetadata | None:
        if not transactional_id:
            raise KafkaError(Code.INVALID_REQUEST, "transactional.id is empty")
        return self.state.get(transactional_id)

    def _apply(self, transactional_id: str, decided: Decision, now_ms: int) -> TransactionMetadata:
        """Log a decision and let it count; if it ends a transaction, its markers are written soon."""
        after = self.state.apply(transactional_id, decided, now_ms)
        if not isinstance(decided, Code) and decided.state in COMPLETED:
            self.markers.add(transactional_id)
        return after
