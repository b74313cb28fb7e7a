"""Find other worker groups on the cluster that use the same transactional ids."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing

from eosfw.config import Config
from eosfw.config.worker import SUPPORT, default_topic
from eosfw.errors import (
    ClusterAuthorizationError,
    ConfigError,
    EosfwError,
    Problem,
    ReadStalledError,
    TopicAuthorizationError,
)
from eosfw.ids import TopicPartition, leader_transactional_id
from eosfw.protocols import Admin, Backend, IsolationLevel
from eosfw.records import OffsetRange
from eosfw.state.fencing.id_collisions import TransactionalIdUser, colliding_users
from eosfw.state.storage.config_log import ConfigLog
from eosfw.transactions import TransactionDescription, TransactionState

logger = logging.getLogger(__name__)

_READ_TIMEOUT = 5.0
"""Seconds; a read that takes longer is given up, as this check must never keep a worker from starting."""
_LONGEST = 200_000
"""A topic with more offsets is no config topic, or too long to be read for this check."""
_UNSEEN = (TopicAuthorizationError, ClusterAuthorizationError, ReadStalledError)
_TAKEN = frozenset(
    {
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.COMPLETE_COMMIT,
    }
)
"""States that a later holder of the id leaves behind; a transaction that timed out leaves an aborted state."""
_REMEDY = "each would fence the other for ever. Kafka Connect's ids leave no way apart: rename the connector or a group"


def find_colliding_users(
    backend: Backend, group_id: str, config_topic: str, transactional_ids: Collection[str]
) -> Mapping[str, TransactionalIdUser]:
    """The transactional ids that another group uses as well, each with its user there.

    The check reads config topics that have the default name of a group; it cannot know others.
    """
    suspects = [(one, user) for one in transactional_ids for user in colliding_users(one, group_id)]
    topics = {default_topic(user.group_id, "configs") for _, user in suspects} - {config_topic}
    if not topics:
        return {}
    with closing(backend.admin()) as admin:
        counts = admin.partitions(sorted(topics))
        logs = {topic: _read(backend, admin, topic) for topic, count in counts.items() if count == 1}
    found: dict[str, TransactionalIdUser] = {}
    for one, user in suspects:
        log = logs.get(default_topic(user.group_id, "configs"))
        if log is not None and _uses(log, user):
            found.setdefault(one, user)
    return found


def collision_text(transactional_id: str, user: TransactionalIdUser) -> str:
    """The message about an id that another group uses as well."""
    return f"transactional id {transactional_id!r} is also that of {user}: {_REMEDY}"


def initialized_by_other(described: TransactionDescription | EosfwError | None) -> bool:
    """Whether another producer initialised an id after the one that lost it, as far as the coordinator tells."""
    return isinstance(described, TransactionDescription) and described.state in _TAKEN


def _uses(log: ConfigLog, user: TransactionalIdUser) -> bool:
    if user.connector is None:  # a group with a config topic has a leader
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
                    log.apply(offset, key, value)  # malformed records are reported by the group itself
    except _UNSEEN as why:
        logger.info("nobody looked whether ids are shared with the group of topic %s: %s", topic, why)
        return None
    return log


def refuse_shared_ids(backend: Backend, worker: Config, where: str, transactional_ids: Sequence[str]) -> None:
    """Raise ConfigError if another worker group uses one of these ids as well."""
    group, topic = worker["group.id"], worker["config.storage.topic"]
    found = find_colliding_users(backend, group, topic, transactional_ids)
    if found:
        raise ConfigError(*(Problem(where, collision_text(one, user)) for one, user in found.items()))


def refuse_shared_leaders_id(backend: Backend, worker: Config) -> None:
    """The same for the id of the group's leader; without exactly-once support it has none."""
    if worker[SUPPORT] != "disabled":
        refuse_shared_ids(backend, worker, "worker", [leader_transactional_id(worker["group.id"])])
