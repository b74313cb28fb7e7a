"""Tell a client that it was fenced in words its version knows."""

from __future__ import annotations

from eosfw_memory.codes import Code


def fenced_error_code(version: int, first_that_knows: int, code: Code) -> Code:
    """Older clients know no ProducerFenced, and handle InvalidProducerEpoch the same way."""
    if code is Code.PRODUCER_FENCED and version < first_that_knows:
        return Code.INVALID_PRODUCER_EPOCH
    return code
