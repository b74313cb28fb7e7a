"""The session ids and epochs of fetches, which clients and brokers count alike (KIP-227). Kafka's `FetchMetadata`."""

from __future__ import annotations

from typing import Final

NO_SESSION: Final = 0
"""The id of no session."""
INITIAL_EPOCH: Final = 0
"""Of a fetch that names all partitions and wants a session."""
FINAL_EPOCH: Final = -1
"""Of a fetch that names all partitions and wants none."""
LARGEST: Final = 2**31 - 1
"""Of ids as of epochs."""


def next_epoch(epoch: int) -> int:
    """The epoch of the fetch behind the one of this epoch."""
    return INITIAL_EPOCH + 1 if epoch == LARGEST else epoch + 1
