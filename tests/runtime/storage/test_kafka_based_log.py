"""The readers that a log lends to threads."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError
from eosfw.protocols import IsolationLevel
from eosfw.records import Headers
from eosfw.runtime.storage.kafka_based_log import KafkaBasedLog, LogSource

from ..fake_cluster import FakeBackend, FakeCluster


class EmptyLog(KafkaBasedLog):
    def _apply(self, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> str | None:
        return None


def test_a_reader_that_met_no_cluster_takes_those_at_rest_with_it() -> None:
    """Their certificates may have been renewed on disk: one after another they would each wait out a timeout."""
    cluster = FakeCluster()
    source = LogSource(topic="t", isolation=IsolationLevel.READ_COMMITTED)
    log = EmptyLog(FakeBackend(cluster), source, ThreadRuntime())  # type: ignore[arg-type]
    with log.reader(), log.reader():
        """Two threads read at once."""
    with log.reader():
        assert len(cluster.readers) == 2

    with pytest.raises(ClusterUnavailableError), log.reader():
        raise ClusterUnavailableError("the certificate expired")

    with log.reader():
        assert len(cluster.readers) == 3
    log.close()
