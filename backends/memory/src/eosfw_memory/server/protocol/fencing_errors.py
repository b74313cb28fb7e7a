"""The error code for a fenced producer, by the version of the request."""

from __future__ import annotations

from eosfw_memory.common.codes import Code


def fenced_error_code(version: int, fenced_version: int, code: Code) -> Code:
    """InvalidProducerEpoch in place of ProducerFenced for versions before `fenced_version`, which do not know it."""
    if code is Code.PRODUCER_FENCED and version < fenced_version:
        return Code.INVALID_PRODUCER_EPOCH
    return code
