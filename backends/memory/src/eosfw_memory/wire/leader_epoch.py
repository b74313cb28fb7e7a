"""Compare the leader epoch a client believes in with the only one there is."""

from __future__ import annotations

from eosfw_memory.broker import LEADER_EPOCH
from eosfw_memory.codes import Code

NO_EPOCH = -1


def epoch_error(believed: int) -> Code:
    """What to answer a client that names the current leader epoch (KIP-320)."""
    if believed in (NO_EPOCH, LEADER_EPOCH):
        return Code.NONE
    return Code.UNKNOWN_LEADER_EPOCH if believed > LEADER_EPOCH else Code.FENCED_LEADER_EPOCH
