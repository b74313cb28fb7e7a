"""Hold the order of batches that wait until the coordinator has confirmed their transaction (KIP-890)."""

from __future__ import annotations

from typing import Final

from eosfw_memory.storage.records.batch import BatchHeader


class VerificationStateEntry:
    """Kafka's `VerificationStateEntry`: a producer that begins a transaction, until a batch or a marker is appended.

    It is in memory only, as in Kafka. The client's version at the first try decides whether the entry is strict.
    """

    __slots__ = ("_epoch", "_lowest", "since_ms", "strict")

    def __init__(self, header: BatchHeader, now_ms: int, *, strict: bool) -> None:
        self.since_ms: Final = now_ms
        self.strict: Final = strict
        """An unknown producer has to begin at 0, even if its state may have expired (version 2 of transactions)."""
        self._epoch = header.producer_epoch
        self._lowest = header.base_sequence

    def update_lowest(self, header: BatchHeader) -> None:
        """Add another batch that has to be confirmed. Kafka's `maybeUpdateLowestSequenceAndEpoch`."""
        if header.producer_epoch > self._epoch:
            self._epoch, self._lowest = header.producer_epoch, header.base_sequence
        elif header.producer_epoch == self._epoch:
            self._lowest = min(self._lowest, header.base_sequence)

    def expected_sequence(self, header: BatchHeader, *, nothing_known: bool) -> int | None:
        """The sequence number that has to be appended before this batch, if any."""
        if self.strict and nothing_known and header.base_sequence:
            return 0
        return self._lowest if header.base_sequence > self._lowest else None
