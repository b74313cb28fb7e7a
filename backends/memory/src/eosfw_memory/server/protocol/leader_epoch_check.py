"""Compare a client's current leader epoch with that of a partition; Kafka's `Partition.checkCurrentLeaderEpoch`."""

from __future__ import annotations

from eosfw_memory.common.codes import Code
from eosfw_memory.storage.log.leader_epochs import NO_LEADER
from eosfw_memory.storage.log.partition_log import PartitionLog


def leader_epoch_error(log: PartitionLog, current_leader_epoch: int) -> Code:
    """The error code for a client that names the current leader epoch; NONE if it is right or unknown (KIP-320)."""
    if current_leader_epoch in (NO_LEADER, log.leader_epoch):
        return Code.NONE
    return Code.UNKNOWN_LEADER_EPOCH if current_leader_epoch > log.leader_epoch else Code.FENCED_LEADER_EPOCH
