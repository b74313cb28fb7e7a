"""The offsets of one connector: in a topic of its own with copies in the worker's, or there alone (KIP-618)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial

from eosfw.config import Config, clients
from eosfw.errors import EosfwError, TaskFailedError
from eosfw.protocols import Admin, IsolationLevel, NewTopic, OffsetStore
from eosfw.records import ProducerRecord
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore, setting_of
from eosfw.runtime.storage.internal_topics import connector_offsets_topic, ensure_connector_offsets_topic, offsets_topic
from eosfw.runtime.storage.offset_records import OffsetRecords
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader
from eosfw.state.storage.combined_offsets import (
    CombinedOffsets,
    OffsetChange,
    OffsetWritePlan,
    StoredOffsets,
    combine_offsets,
    plan_offset_writes,
)
from eosfw.state.storage.offset_topics import TopicOnCluster, same_offsets_topic, server_set

logger = logging.getLogger(__name__)

CountFailure = Callable[[], None]
"""Called for each offset that could not be copied to the worker's topic, on another thread."""
Lend = Callable[[OffsetStorageReader], AbstractContextManager[OffsetStorageReader]]


@dataclass(frozen=True, slots=True)
class OffsetTopics:
    """Where the source offsets of a connector are (what Kafka Connect's `ConnectorOffsetBackingStore` is made with)."""

    topic: NewTopic
    """The topic that tasks write to, on the cluster of their producers."""
    isolation: IsolationLevel
    """How it is read."""
    setting: str
    """The property that asks for that, for messages."""
    own: bool
    """Whether it is not the worker's topic, to which its offsets are copied then."""

    def known(self, worker: GlobalOffsetBackingStore) -> OffsetRecords | None:
        """What the worker has read of the topic already; None if that is another topic, or read in another way."""
        return None if self.own or self.isolation is not worker.isolation else worker.records


def offset_topics(worker: Config, connector: Config) -> OffsetTopics:
    """Where a connector's offsets are: in the topic that it names, on the cluster that it writes to."""
    topic = connector_offsets_topic(worker, connector)
    own_cluster = server_set(",".join(worker["bootstrap.servers"] or ()))
    same = same_offsets_topic(
        TopicOnCluster(topic.name, clients.other_servers(connector)),
        TopicOnCluster(offsets_topic(worker).name, own_cluster),
    )
    isolation = IsolationLevel(clients.offsets_isolation(worker, connector))
    return OffsetTopics(topic, isolation, setting_of(worker, isolation), own=not same)


def confirmed(topics: OffsetTopics, admin: Admin, worker: GlobalOffsetBackingStore) -> OffsetTopics:
    """The same, asked of the clusters: topics of one name on one cluster are one, however its addresses are spelled.

    Copies into the very topic that tasks write to would come after newer offsets there. `admin` is the connector's.
    """
    if not topics.own or topics.topic.name != worker.topic:
        return topics
    # Both ids are asked of the clusters: addresses may be spelled in many ways, an id in one.
    found = admin.cluster_id()
    return topics if found is None else replace(topics, own=found != worker.cluster_id())


def confirmed_offset_topics(worker: GlobalOffsetBackingStore, connector: Config) -> OffsetTopics:
    """Where a connector's offsets are, asked of the clusters if the properties leave it open."""
    topics = offset_topics(worker.config, connector)
    if not topics.own:
        return topics
    with closing(_admin(worker, connector)) as admin:
        return confirmed(topics, admin, worker)


def ensure_offsets_topic_of(worker: GlobalOffsetBackingStore, connector: Config) -> None:
    """Create a connector's own offsets topic, if it has one, when the connector starts (KIP-618, creation)."""
    topics = offset_topics(worker.config, connector)
    if topics.own:
        with closing(_admin(worker, connector)) as admin:
            ensure_connector_offsets_topic(admin, topics.topic)


def _admin(worker: GlobalOffsetBackingStore, connector: Config) -> Admin:
    return worker.backend.admin(clients.connector_admin(worker.config, connector).properties)


class ConnectorOffsetBackingStore:
    """What the topics of a connector's offsets say, and the writes to the worker's topic around each commit.

    Kafka Connect's `ConnectorOffsetBackingStore`, for one thread. The records of a commit are written by the caller,
    who alone has the producer of the transaction.
    """

    def __init__(
        self,
        connector: str,
        topics: OffsetTopics,
        store: OffsetStore,
        worker: GlobalOffsetBackingStore,
        count_failure: CountFailure = lambda: None,
    ) -> None:
        self._connector, self._topics, self._store, self._worker = connector, topics, store, worker
        self._count_failure = count_failure
        self._found = CombinedOffsets({}, {})
        self._own: set[str] = set()

    @property
    def offsets(self) -> StoredOffsets:
        """The offsets of the connector, as of the last `load`."""
        return self._found.offsets()

    def load(self, reader: OffsetStorageReader, lend: Lend = closing) -> None:
        """Read the connector's topic and, unless that is the same, the worker's; `lend` closes each reader."""
        decode = partial(self._store.decode, self._connector)
        with lend(reader):
            own = list(reader.read(self._topics.topic.name))
        if not self._topics.own:
            self._found = CombinedOffsets(decode(own), {})
            return
        with lend(self._worker.reader()) as other:
            self._found = combine_offsets(decode, own, other.read(self._worker.topic))
        self._own = set(self._found.own)

    def delete_hidden(self) -> None:
        """Have those offsets deleted from the worker's topic that the connector's own topic has forgotten."""
        hidden = self._found.hidden
        if hidden:
            logger.info("%d offsets that connector %s forgot are deleted, late", len(hidden), self._connector)
            records = [ProducerRecord(self._worker.topic, None, key) for key in hidden]
            self._worker.backup.submit(records, self._written)

    def encode(self, changes: Sequence[OffsetChange]) -> Sequence[ProducerRecord]:
        """The records that state changed offsets in the connector's topic; TaskFailedError if one cannot be stated."""
        return self._store.encode(self._connector, self._topics.topic.name, changes)

    def before_commit(self, changes: Sequence[OffsetChange], timeout: float) -> None:
        """Forget offsets in the worker's topic, so that they cannot come back; TaskFailedError after `timeout` s."""
        if not self._topics.own:
            return
        # Before, and waited for: after a crash behind the commit, a copy left here would bring the old offset back.
        try:
            self._worker.backup.write(self._copies(self._plan(changes).before), timeout)
        except EosfwError as why:
            raise TaskFailedError(
                f"connector {self._connector} could not forget source offsets, since offsets topic "
                f"{self._worker.topic} of the worker, which holds copies, took no deletion: {why}"
            ) from why

    def after_commit(self, changes: Sequence[OffsetChange]) -> None:
        """Have changed offsets copied to the worker's topic; does not wait, and a failure is only counted."""
        if not self._topics.own:
            return
        plan = self._plan(changes)
        for partition, offset in changes:
            change = self._own.discard if offset is None else self._own.add
            change(self._store.partition_key(partition))
        # Only after the commit: a copy of an offset that was never committed would let records be passed over.
        self._worker.backup.submit(self._copies((*plan.after, *plan.forgotten_after)), self._written)

    def _plan(self, changes: Sequence[OffsetChange]) -> OffsetWritePlan:
        return plan_offset_writes(changes, self._store.partition_key, self._own)

    def _copies(self, changes: Sequence[OffsetChange]) -> Sequence[ProducerRecord]:
        # Under the key that the worker's topic has for a partition, so that compaction replaces the older offset there.
        known = ((self._found.worker.get(self._store.partition_key(one)), one, offset) for one, offset in changes)
        spelled = [(one if stored is None else stored[0], offset) for stored, one, offset in known]
        return self._store.encode(self._connector, self._worker.topic, spelled)

    def _written(self, failed: EosfwError | None) -> None:
        if failed is not None:
            self._count_failure()
