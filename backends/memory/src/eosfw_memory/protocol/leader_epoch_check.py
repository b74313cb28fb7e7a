"""Compare the leader epoch a client believes in with that of a partition."""

from __future__ import annotations

from eosfw_memory.codes import Code
from eosfw_memory.log.leader_epochs import NO_LEADER
from eosfw_memory.log.partition_log import PartitionLog


def leader_epoch_error(log: PartitionLog, believed: int) -> Code:
    """What to answer a client that names the current leader epoch (KIP-320)."""
    if believed in (NO_LEADER, log.leader_epoch):
        return Code.NONE
    return Code.UNKNOWN_LEADER_EPOCH if believed > log.leader_epoch else Code.FENCED_LEADER_EPOCH
