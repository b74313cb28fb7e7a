"""Remember first batches that wait to be confirmed, so that none that was sent later overtakes them (KIP-890)."""

from __future__ import annotations

from typing import Final

from eosfw_memory.records.batch import BatchHeader


class VerificationStateEntry:
    """A producer's wish to begin a transaction in one partition, from its first try until a batch or a marker is there.

    Kept in memory only, as in Kafka. Whether it is strict is said once, by the client of the first try.
    """

    __slots__ = ("_epoch", "_lowest", "since_ms", "strict")

    def __init__(self, header: BatchHeader, now_ms: int, *, strict: bool) -> None:
        self.since_ms: Final = now_ms
        self.strict: Final = strict
        """A producer of which nothing is known begins at 0: that something was forgotten is no excuse (version 2)."""
        self._epoch = header.producer_epoch
        self._lowest = header.base_sequence

    def update_lowest(self, header: BatchHeader) -> None:
        """Take note of another batch that has to be confirmed."""
        if header.producer_epoch > self._epoch:
            self._epoch, self._lowest = header.producer_epoch, header.base_sequence
        elif header.producer_epoch == self._epoch:
            self._lowest = min(self._lowest, header.base_sequence)

    def expected_sequence(self, header: BatchHeader, *, nothing_known: bool) -> int | None:
        """The sequence number that has to come before this batch, if any."""
        if self.strict and nothing_known and header.base_sequence:
            return 0
        return self._lowest if header.base_sequence > self._lowest else None
