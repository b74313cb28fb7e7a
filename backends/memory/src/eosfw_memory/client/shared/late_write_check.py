"""Refuse a cluster whose brokers would append what arrives after the end of its transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Final

from eosfw.errors import FatalError, UnsupportedError
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.admin.admin import MemoryAdmin
from eosfw_memory.client.metadata import ClusterMetadata

VERIFICATION: Final = "transaction.partition.verification.enable"
_EPOCH_PER_TRANSACTION: Final = 2


class LateWriteCheck:
    """What a cluster does with a late write; asked before a transaction is shared."""

    def __init__(self, metadata: ClusterMetadata, admin: Callable[[], MemoryAdmin], version: int | None) -> None:
        """`version` is the version of transactions that the client is bound to; None is the cluster's."""
        self._metadata = metadata
        self._admin = admin
        self._version = version

    def require_refusal(self, timer: RetryTimer) -> None:
        """Raise UnsupportedError unless every broker refuses a late write.

        In version 2 of transactions the epoch of an ended transaction is over, whatever the brokers' properties say. In
        version 1 the coordinator must be asked about each first batch. A broker before Kafka 3.6 has no property of
        that name, and ApiVersions does not tell whether it is set.
        """
        version = self._version or self._metadata.transaction_version(timer)
        if version >= _EPOCH_PER_TRANSACTION:
            return
        what = f"processes cannot share a transaction at {self._metadata.network.servers}"
        try:
            with closing(self._admin()) as admin:
                configs = admin.broker_configs()
        except FatalError as why:
            raise UnsupportedError(f"{what}: whether brokers refuse late writes cannot be found out: {why}") from why
        lax = [str(number) for number, config in configs.items() if config.get(VERIFICATION) != "true"]
        if lax:
            raise UnsupportedError(
                f"{what}: broker {', '.join(lax)} would append a record that arrives after the end of its transaction, "
                f"since {VERIFICATION} is not true there (Kafka has it from 3.6 on); set it, or upgrade the feature "
                f"transaction.version to 2 (Kafka 4.0)"
            )

    def close(self) -> None:
        """Close what it asks with."""
        self._metadata.network.close()
