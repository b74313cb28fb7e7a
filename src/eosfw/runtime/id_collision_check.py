"""Look for other worker groups on the cluster that write under the same transactional ids."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import closing

from eosfw.config.worker import default_topic
from eosfw.errors import ClusterAuthorizationError, ReadStalledError, TopicAuthorizationError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, Backend, IsolationLevel
from eosfw.records import OffsetRange
from eosfw.state.config_log import ConfigLog
from eosfw.state.id_collisions import TransactionalIdUser, colliding_users
from eosfw.transactions import TransactionDescription, TransactionState

logger = logging.getLogger(__name__)

_READ_TIMEOUT = 5.0
_LONGEST = 200_000
"""Offsets of a topic beyond which it is nobody's config topic, or too much to read for a look."""
_UNSEEN = (TopicAuthorizationError, ClusterAuthorizationError, ReadStalledError)
_TAKEN = frozenset(
    {
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.COMPLETE_COMMIT,
    }
)
"""What a holder leaves that came behind us; a transaction that ran out of time leaves one that was aborted."""
_REMEDY = "each would fence the other for ever. Kafka Connect's ids leave no way apart: rename the connector or a group"


def find_colliding_users(
    backend: Backend, group_id: str, config_topic: str, transactional_ids: Collection[str]
) -> Mapping[str, TransactionalIdUser]:
    """Ids of a group that belong to somebody of another group, too; ids that are this group's alone are left out.

    It looks into config topics that have the name a group gives them by default; others it cannot know.
    """
    suspects = [(one, user) for one in transactional_ids for user in colliding_users(one, group_id)]
    topics = {default_topic(user.group_id, "config") for _, user in suspects} - {config_topic}
    if not topics:
        return {}
    with closing(backend.admin()) as admin:
        counts = admin.partitions(sorted(topics))
        logs = {topic: _read(backend, admin, topic) for topic, count in counts.items() if count == 1}
    found: dict[str, TransactionalIdUser] = {}
    for one, user in suspects:
        log = logs.get(default_topic(user.group_id, "config"))
        if log is not None and _uses(log, user):
            found.setdefault(one, user)
    return found


def collision_text(transactional_id: str, user: TransactionalIdUser) -> str:
    """What to tell whoever uses an id that is somebody else's, too."""
    return f"transactional id {transactional_id!r} is also that of {user}: {_REMEDY}"


def initialized_by_other(admin: Admin, transactional_id: str) -> bool:
    """Whether somebody initialised an id behind the producer that lost it, as far as its coordinator tells."""
    described = admin.describe_transactions([transactional_id])[transactional_id]
    return isinstance(described, TransactionDescription) and described.state in _TAKEN


def _uses(log: ConfigLog, user: TransactionalIdUser) -> bool:
    if user.connector is None:  # a group has a leader as soon as it has its config topic
        return True
    return user.task < len(log.entry(user.connector).tasks)


def _read(backend: Backend, admin: Admin, topic: str) -> ConfigLog | None:
    log, where = ConfigLog(), TopicPartition(topic, 0)
    try:
        start = admin.log_start_offsets([where])[where]
        end = admin.end_offsets([where], IsolationLevel.READ_COMMITTED)[where]
        if end - start > _LONGEST:
            return None
        with closing(backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
            for batch in reader.read({where: OffsetRange(start, end)}, _READ_TIMEOUT) if start < end else ():
                for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                    log.apply(offset, key, value)  # records that make no sense are somebody else's affair
    except _UNSEEN as why:
        logger.info("nobody looked whether ids are shared with the group of topic %s: %s", topic, why)
        return None
    return log
