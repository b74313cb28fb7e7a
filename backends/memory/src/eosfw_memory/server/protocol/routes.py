"""The table of the requests this broker serves, with their versions: exactly what it advertises; Kafka's `ApiKeys`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

PRODUCE = 0
API_VERSIONS = 18
SASL_HANDSHAKE = 17
SASL_AUTHENTICATE = 36


@dataclass(frozen=True, slots=True)
class Route:
    """One kind of request: its key, the module in `protocol.handlers` that answers it, the versions that are served."""

    key: int
    module: str
    min_version: int
    max_version: int


@cache
def api_name(module: str) -> str:
    """What Kafka's protocol calls the request that a module answers: `...end_txn` is `EndTxn`."""
    return "".join(word.capitalize() for word in module.rpartition(".")[2].split("_"))


ROUTES: Mapping[int, Route] = {
    route.key: route
    for route in (
        Route(PRODUCE, "records.produce", 3, 12),
        Route(1, "records.fetch", 4, 17),
        Route(2, "records.list_offsets", 1, 10),
        Route(3, "topics.metadata", 0, 12),
        # OffsetCommit and OffsetFetch from 10 on name topics by id.
        Route(8, "groups.offset_commit", 2, 9),
        Route(9, "groups.offset_fetch", 1, 9),
        Route(10, "cluster.find_coordinator", 0, 5),
        Route(11, "groups.join_group", 2, 9),
        Route(12, "groups.heartbeat", 0, 4),
        Route(13, "groups.leave_group", 0, 5),
        Route(14, "groups.sync_group", 0, 5),
        Route(15, "groups.describe_groups", 0, 6),
        Route(16, "groups.list_groups", 0, 5),
        Route(SASL_HANDSHAKE, "connections.sasl_handshake", 0, 1),
        Route(API_VERSIONS, "connections.api_versions", 0, 4),
        Route(19, "topics.create_topics", 2, 7),
        Route(20, "topics.delete_topics", 1, 6),
        Route(21, "records.delete_records", 0, 2),
        Route(22, "transactions.init_producer_id", 0, 5),
        Route(23, "records.offset_for_leader_epoch", 2, 4),
        Route(24, "transactions.add_partitions_to_txn", 0, 5),
        Route(25, "transactions.add_offsets_to_txn", 0, 4),
        Route(26, "transactions.end_txn", 0, 5),
        Route(27, "transactions.write_txn_markers", 1, 1),
        Route(28, "transactions.txn_offset_commit", 0, 5),
        Route(29, "acls.describe_acls", 1, 3),
        Route(30, "acls.create_acls", 1, 3),
        Route(31, "acls.delete_acls", 1, 3),
        Route(32, "configs.describe_configs", 1, 4),
        Route(33, "configs.alter_configs", 0, 2),
        Route(35, "cluster.describe_log_dirs", 1, 4),
        Route(SASL_AUTHENTICATE, "connections.sasl_authenticate", 0, 2),
        Route(37, "topics.create_partitions", 0, 3),
        Route(42, "groups.delete_groups", 0, 2),
        Route(44, "configs.incremental_alter_configs", 0, 1),
        Route(46, "cluster.list_partition_reassignments", 0, 0),
        Route(47, "groups.offset_delete", 0, 0),
        Route(48, "quotas.describe_client_quotas", 0, 1),
        Route(49, "quotas.alter_client_quotas", 0, 1),
        Route(50, "scram.describe_user_scram_credentials", 0, 0),
        Route(51, "scram.alter_user_scram_credentials", 0, 0),
        Route(60, "cluster.describe_cluster", 0, 2),
        Route(61, "transactions.describe_producers", 0, 0),
        Route(65, "transactions.describe_transactions", 0, 0),
        Route(66, "transactions.list_transactions", 0, 2),
        Route(68, "groups.consumer_group_heartbeat", 0, 1),
        Route(69, "groups.consumer_group_describe", 0, 1),
        Route(74, "configs.list_config_resources", 0, 1),
    )
}
