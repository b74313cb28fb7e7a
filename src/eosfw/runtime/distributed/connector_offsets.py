"""Reading and changing the source offsets of a connector (KIP-875; `Worker.modifySourceConnectorOffsets`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from eosfw.config import clients
from eosfw.connectors import AltersOffsets
from eosfw.errors import BadRequestError, EosfwError, RequestTimeoutError, TaskFailedError, UnsupportedError
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.protocols import TransactionalProducer
from eosfw.protocols.herder import ConnectorOffset
from eosfw.records import LogBatch, SourceOffset, SourcePartition
from eosfw.runtime.connectors.offsets import ConnectorOffsets, OffsetServices, load, offsets_of, stored_offsets
from eosfw.runtime.fencing.rounds import ROUND_TIMEOUT
from eosfw.runtime.storage.connector_offset_backing_store import (
    ConnectorOffsetBackingStore,
    ensure_offsets_topic_of,
)
from eosfw.runtime.tasks.commit_protocol import AtLeastOnceCommit, CommitProtocol, TransactionalCommit
from eosfw.state.storage.combined_offsets import OffsetChange

logger = logging.getLogger(__name__)

REQUEST_TIMEOUT = ROUND_TIMEOUT
"""Seconds that a change may take, as Kafka Connect's REST requests may."""


@dataclass(frozen=True, slots=True)
class OffsetGuard:
    """What keeps a change of offsets from meeting tasks (KIP-875); both raise to refuse it."""

    check: Callable[[], None]
    """Reads the config topic to its end: this worker leads, no rebalance is due, the connector is stopped and has no
    tasks. Called several times, since it may change."""
    fence: Callable[[], None]
    """Fences every producer of the connector's earlier tasks; called with exactly-once alone."""


def connector_offsets(services: OffsetServices, name: str, properties: Mapping[str, str]) -> Sequence[ConnectorOffset]:
    """The committed offsets of a connector, as its tasks would get them; waits for open transactions."""
    stored = stored_offsets(services, name, properties)
    return [ConnectorOffset(dict(partition), dict(offset)) for partition, offset in stored.values()]


def alter_offsets(
    services: OffsetServices,
    name: str,
    properties: Mapping[str, str],
    offsets: Sequence[ConnectorOffset],
    guard: OffsetGuard,
) -> str:
    """Change offsets of a stopped connector, all of them or none; return the message for the user.

    An offset of None forgets its source partition. BadRequestError for offsets that cannot be stored.
    """
    if not offsets:
        raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
    for one in offsets:
        _validate_format(one.partition, "partition")
        _validate_format(one.offset, "offset")
    return _modify(services, name, properties, offsets, guard)


def reset_offsets(services: OffsetServices, name: str, properties: Mapping[str, str], guard: OffsetGuard) -> str:
    """Forget all offsets of a stopped connector; return the message for the user."""
    return _modify(services, name, properties, None, guard)


def _modify(
    services: OffsetServices,
    name: str,
    properties: Mapping[str, str],
    offsets: Sequence[ConnectorOffset] | None,
    guard: OffsetGuard,
) -> str:
    deadline = services.runtime.now() + REQUEST_TIMEOUT

    def in_time(doing: str) -> None:
        if services.runtime.now() >= deadline:
            raise RequestTimeoutError(f"Timed out while {doing} source connector {name}")

    guard.check()
    if clients.exactly_once(services.config):
        try:
            guard.fence()
        except EosfwError as why:
            what = "Failed to perform zombie fencing for source connector prior to modifying offsets"
            raise EosfwError(f"{what}: {why}") from why
        guard.check()  # fencing takes a while
    found = offsets_of(services, name, properties)
    # Before the offsets are read: a transaction that an earlier request left open is aborted here.
    with _writer(services, found, guard) as writer:
        load(services, found)
        in_time("trying to read to the end of the offsets topic prior to modifying offsets for")
        known = found.backing.offsets.values()
        changes = [(one, None) for one, _ in known] if offsets is None else _normalized(found, offsets)
        heard = _ask_connector(found, changes)
        in_time("calling the 'alterOffsets' method for")
        if changes:
            writer.write(changes)
            logger.info("%d source offsets of connector %s were changed on request", len(changes), name)
    return _message("reset" if offsets is None else "altered", heard=heard)


# --- what is changed


def _validate_format(values: Any, what: str) -> None:
    """Refuse what Kafka Connect's `OffsetUtils.validateFormat` does, and a source partition that is missing."""
    if values is None and what == "offset":
        return
    if not isinstance(values, Mapping):
        raise BadRequestError("Offsets must be specified as a Map")
    for name, value in values.items():
        if not isinstance(name, str):
            raise BadRequestError("Offsets may only use String keys")
        kind = "MAP" if isinstance(value, Mapping) else "ARRAY" if isinstance(value, list | tuple) else None
        if kind is not None:
            raise BadRequestError(
                f"Offsets may only contain primitive types as values, but field {name} contains {kind}"
            )


def _normalized(found: ConnectorOffsets, offsets: Sequence[ConnectorOffset]) -> Sequence[OffsetChange]:
    """The changes as a task would read them back, so that the connector judges no other types than it will get."""
    known, changes = found.backing.offsets, {}
    for one in offsets:
        key, partition, offset = _read_back(found, one)
        if key in changes:
            raise BadRequestError(f"source partition {dict(partition)} is given twice; give each of them one offset")
        changes[key] = (known[key][0] if key in known else partition, None if one.offset is None else offset)
    return list(changes.values())


def _read_back(found: ConnectorOffsets, one: ConnectorOffset) -> tuple[str, SourcePartition, SourceOffset]:
    try:
        (record,) = found.store.encode(found.name, "", [(one.partition, one.offset or {})])
    except TaskFailedError as why:
        raise BadRequestError(str(why)) from None
    batch = LogBatch("", 0, [0], [record.key], [record.value], [0])
    ((key, (partition, offset)),) = found.store.decode(found.name, [batch]).items()
    return key, dict(partition), offset


def _ask_connector(found: ConnectorOffsets, changes: Sequence[OffsetChange]) -> bool:
    """Whether the connector itself has dealt with the change; raises if it refuses it."""
    if not isinstance(found.connector, AltersOffsets):
        return False
    given = [(dict(partition), None if offset is None else dict(offset)) for partition, offset in changes]
    try:
        return bool(found.connector.alter_offsets(found.config, given))
    except UnsupportedError as why:
        # No UnsupportedError, which is about the cluster: in Kafka Connect it is a 500 like each other refusal.
        raise EosfwError(
            f"Failed to modify offsets for connector {found.name} because it doesn't support external modification of "
            f"offsets"
        ) from why
    except EosfwError:
        raise
    except Exception as why:
        raise EosfwError(f"Failed to modify offsets for source connector {found.name}: {why}") from why


def _message(done: str, *, heard: bool) -> str:
    if heard:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector "
        f"uses."
    )


# --- the write


@dataclass(frozen=True, slots=True)
class _Writer:
    """The producer of task 0, with which changed offsets are committed."""

    backing: ConnectorOffsetBackingStore
    producer: TransactionalProducer
    commit_protocol: CommitProtocol
    timeout: float

    def write(self, changes: Sequence[OffsetChange]) -> None:
        """Write every change or none."""
        records = self.backing.encode(changes)  # what cannot be stated raises before anything is written
        self.backing.before_commit(changes, self.timeout / 2)
        self.commit_protocol.begin()
        try:
            for record in records:
                self.producer.send(record)
        except BaseException:
            with suppress(EosfwError):  # the error before it is raised; the next request aborts what is open
                self.commit_protocol.abort()
            raise
        self.commit_protocol.commit()
        self.backing.after_commit(changes)


@contextmanager
def _writer(services: OffsetServices, found: ConnectorOffsets, guard: OffsetGuard) -> Iterator[_Writer]:
    worker = services.config
    ensure_offsets_topic_of(services.worker_offsets, found.config)
    own = task_transactional_id(worker["group.id"], ConnectorTaskId(found.name, 0))
    settings = clients.task_producer(worker, found.config, own, services.max_transaction_timeout)
    timeout, exactly_once = settings.transaction_timeout, clients.exactly_once(worker)
    producer = services.backend.producer(
        own if exactly_once else None, transaction_timeout=timeout, properties=settings.properties
    )
    with closing(producer):
        if not exactly_once:
            yield _Writer(found.backing, producer, AtLeastOnceCommit(producer, timeout), timeout)
            return
        producer.init_transactions(timeout)
        # As a task does: tasks that were started meanwhile are seen now; those that come later fence this producer.
        guard.check()
        commit_protocol = TransactionalCommit(producer, timeout, services.runtime)
        yield _Writer(found.backing, producer, commit_protocol, timeout)
