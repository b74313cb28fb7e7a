"""Whether a batch whose publishing failed is tried again with a new producer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eosfw.errors import (
    AbortableError,
    ConfigError,
    EosfwError,
    IndefiniteOutcomeError,
    InvalidPidMappingError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    Problem,
    ProducerFencedError,
    RetriableError,
)

GIVE_UP: Final = 180.0
"""Seconds for which one batch is tried again while the cluster does not answer."""
TIMEOUTS: Final = 2
"""How often a batch may take longer than its transaction; once can be a broker, or this process, that stood still."""
FENCINGS: Final = 3
"""How often one batch may lose its transactional id; a driver that is fenced again and again has a living rival."""
LOST_ID: Final = (
    ProducerFencedError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    InvalidPidMappingError,
    OutOfOrderSequenceError,
)
"""Errors of a producer that is no longer, or not any more, the one that the cluster knows."""


@dataclass(frozen=True, slots=True)
class CommitAttempts:
    """What one batch has met so far."""

    began: float
    """When it was first tried, in seconds of a monotonic clock."""
    fencings: int = 0
    """How often it lost its transactional id."""
    timeouts: int = 0
    """How often its transaction took longer than its timeout."""

    def after(self, error: EosfwError, *, timed_out: bool = False) -> CommitAttempts:
        """The same with one more failure."""
        return CommitAttempts(self.began, self.fencings + isinstance(error, LOST_ID), self.timeouts + timed_out)


def may_try_again(error: EosfwError, attempts: CommitAttempts, now: float) -> bool:
    """Whether a new fencing, a new look at the token and a new transaction may help."""
    if isinstance(error, LOST_ID):
        return attempts.fencings <= FENCINGS
    # Subclasses of AbortableError name what a new transaction would meet again: no topic, no permission, too large.
    passing = isinstance(error, (RetriableError, IndefiniteOutcomeError)) or type(error) is AbortableError
    return passing and now - attempts.began < GIVE_UP


def timeout_error(what: str, transaction_timeout: float) -> ConfigError:
    """The error of a batch that takes longer than its transaction may."""
    return ConfigError(
        Problem(
            "",
            f"{what} than kafka.transaction.timeout.ms={round(transaction_timeout * 1000)}, so the cluster aborted it; "
            f"raise that option, or make batches smaller by maxOffsetsPerTrigger of the source",
        )
    )


def too_slow(error: Exception | None, publishing: float, transaction_timeout: float) -> bool:
    """Whether a transaction was lost because it took longer than its timeout."""
    return isinstance(error, LOST_ID) and publishing >= transaction_timeout
