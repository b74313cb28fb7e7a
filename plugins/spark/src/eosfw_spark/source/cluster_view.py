"""What the driver of a stream sees of the cluster: partitions, their bounds, and what holds them back."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from typing import Any, Final

from eosfw.errors import DamagedDataError, EosfwError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, IsolationLevel, IsolationReader, OpenTransaction
from eosfw_spark.clients import open_backend, open_isolation_reader
from eosfw_spark.source.admission_control import Offsets
from eosfw_spark.source.offset_ranges import Ranges, never_asked, partitions_to_read, starting_offsets
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.source_offset import from_offsets

logger = logging.getLogger(__name__)
HELD: Final = "held back"


class ClusterView:
    """Asks the cluster, by clients that stay open as long as the query runs on this driver."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._open = ExitStack()
        self._clients: tuple[IsolationReader, Admin] | None = None
        self._bounds: Ranges = {}
        self._held_at: dict[TopicPartition, int] = {}
        self._warned: set[tuple[TopicPartition, str, int]] = set()

    def starts(self) -> Offsets:
        """Where a new query starts, by its options."""
        bounds = self._ask()
        among = {each: bounds[each] for each in partitions_to_read(self._options, bounds)}
        return starting_offsets(self._options.start, among, never_asked)

    def ends(self) -> Offsets:
        """The end of what is committed, of every partition that is read."""
        bounds = self._ask()
        return {each: bounds[each].end for each in self._read(bounds)}

    def _read(self, bounds: Ranges) -> list[TopicPartition]:
        assigned = self._options.assigned
        return sorted(bounds) if assigned is None else [each for each in assigned if each in bounds]

    def _ask(self) -> Ranges:
        topics = self._options.topics
        bounds = self._reader.bounds(topics)
        if gone := sorted(set(topics) - {each.topic for each in bounds}):
            raise UnknownTopicOrPartitionError(
                f"no topic {', '.join(gone)} on {self._options.address}: it was deleted, or never created; create it,"
                " or change subscribe and give the query a new checkpointLocation"
            )
        self._bounds = bounds
        return bounds

    def with_new_partitions(self, start: Offsets, end: Offsets) -> Offsets:
        """The start of each partition; one that a topic has got since the last batch is read from its beginning."""
        if new := set(end) - set(start):
            bounds = self._bounds or self._ask()
            return {**start, **{each: bounds[each].start if each in bounds else 0 for each in new}}
        return start

    def require(self, starts: Offsets, ends: Offsets) -> None:
        """Raise DamagedDataError if what a batch begins with is not there any more."""
        bounds = self._bounds or self._ask()
        for each in sorted(ends):
            known = bounds.get(each)
            if known is None or starts[each] < known.start or starts[each] > known.end:
                what = "does not exist any more" if known is None else f"holds {known.start} to {known.end}"
                raise DamagedDataError(
                    f"{each} {what}, but the query goes on at offset {starts[each]}: records were deleted, or the topic"
                    " was deleted and created again; start anew with another checkpointLocation to read what is left"
                )

    # --- what holds partitions back

    def report(self) -> dict[str, Any]:
        """The last stable offsets, and for each partition that stays behind its high watermark who holds it back."""
        bounds = self._bounds or self._ask()
        ends = {each: bounds[each].end for each in self._read(bounds)}
        report: dict[str, Any] = from_offsets(ends)
        if held := self._held(ends):
            report[HELD] = {str(each): _shown(one) for each, one in held.items()}
            self._warn(held)
        return report

    def _held(self, ends: Offsets) -> dict[TopicPartition, OpenTransaction | None]:
        """Partitions whose end has not moved since the last report although more is written there."""
        if self._options.reader.name != IsolationLevel.READ_COMMITTED.value:
            return {}
        try:
            written = self._admin.end_offsets(list(ends), IsolationLevel.READ_UNCOMMITTED)
            behind = {each: end for each, end in ends.items() if written[each] > end}
            lasting = [each for each, end in behind.items() if self._held_at.get(each) == end]
            self._held_at = behind
            if not lasting:
                return {}
            return {**dict.fromkeys(lasting), **{one.partition: one for one in self._admin.open_transactions(lasting)}}
        except EosfwError as why:  # a report must not end the query
            logger.debug("cannot tell what holds %s back: %s", self._options.topics, why)
            return {}

    def _warn(self, held: dict[TopicPartition, OpenTransaction | None]) -> None:
        for partition, one in held.items():
            key = (partition, "" if one is None else one.transactional_id, self._held_at[partition])
            if key not in self._warned:
                self._warned.add(key)
                logger.warning("%s is held back at offset %d: %s", partition, self._held_at[partition], _sentence(one))

    # --- clients

    @property
    def _reader(self) -> IsolationReader:
        return self._connect()[0]

    @property
    def _admin(self) -> Admin:
        return self._connect()[1]

    def _connect(self) -> tuple[IsolationReader, Admin]:
        if self._clients is None:
            options = self._options
            backend = self._open.enter_context(open_backend(options.backend, options.properties))
            reader = self._open.enter_context(open_isolation_reader(backend, options.reader, headers=False))
            admin = backend.admin()
            self._open.callback(admin.close)
            self._clients = (reader, admin)
        return self._clients

    def close(self) -> None:
        """Close the clients."""
        self._clients = None
        self._open.close()


def _shown(one: OpenTransaction | None) -> dict[str, Any]:
    if one is None:
        return {"by": _sentence(one)}
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - one.age))
    return {"transactional.id": one.transactional_id, "since": since, "freed by": _command(one)}


def _sentence(one: OpenTransaction | None) -> str:
    if one is None:
        return "a transaction is open that this client cannot name; eosfw txn list --state Ongoing shows it"
    return (
        f"transactional id {one.transactional_id} has had a transaction open for {one.age:.0f} s; its transaction"
        f" timeout ends it, or now: {_command(one)}"
    )


def _command(one: OpenTransaction) -> str:
    return f"eosfw txn fence {one.transactional_id}"
