"""Source offsets of sent records that are not committed yet (TXN-04; Kafka Connect's `OffsetStorageWriter`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from eosfw.errors import IllegalStateError, TaskFailedError
from eosfw.records import Primitive, SourceOffset, SourcePartition
from eosfw.state.storage.combined_offsets import OffsetChange


class PendingOffsets:
    """The newest offset of each source partition since the last commit; the task's transaction writes them.

    A partition that was read from the topic is given back as the object that the offset store made
    (`StoredPartition`), since that object may hold the key that the partition has in the compacted topic.
    """

    def __init__(
        self, key_of: Callable[[SourcePartition], str], committed: Mapping[str, tuple[SourcePartition, SourceOffset]]
    ) -> None:
        self._key_of = key_of
        self._spelling: dict[str, SourcePartition] = {key: partition for key, (partition, _) in committed.items()}
        self._noted: dict[str, SourceOffset | None] = {}
        self._snapshot: dict[str, SourceOffset | None] | None = None
        """What the flush under way writes; None between flushes."""
        self._last: tuple[SourcePartition, dict[str, Primitive], str] | None = None

    def note(self, partition: SourcePartition, offset: SourceOffset | None) -> None:
        """Note the offset of a sent record. It is copied, since a task may change the mapping and use it again."""
        try:
            self._noted[self._key(partition)] = None if offset is None else dict(offset)
        except (TypeError, ValueError) as why:
            raise TaskFailedError(
                f"source partition {partition!r} or source offset {offset!r} is no mapping that can be stored: {why}"
            ) from None

    def _key(self, partition: SourcePartition) -> str:
        last = self._last
        # Records of one partition come in runs: to compare is cheaper than to make the key again.
        if last is not None and last[0] is partition and _is_unchanged(last[1], partition):
            return last[2]
        kept, key = dict(partition), self._key_of(partition)
        self._last = (partition, kept, key)
        self._spelling.setdefault(key, kept)
        return key

    def begin_flush(self) -> Sequence[OffsetChange]:
        """The offsets that a commit must write now; what is noted later belongs to the next flush.

        IllegalStateError while another flush is under way.
        """
        if self._snapshot is not None:
            raise IllegalStateError("a flush of source offsets is under way: it must end first")
        self._snapshot, self._noted = self._noted, {}
        return [(self._spelling[key], offset) for key, offset in self._snapshot.items()]

    def complete_flush(self) -> None:
        """Forget the snapshot: it is committed."""
        self._snapshot = None

    def cancel_flush(self) -> None:
        """Make the snapshot pending again, under what was noted since: that is newer, so it wins."""
        self._noted = {**(self._snapshot or {}), **self._noted}
        self._snapshot = None


def _is_unchanged(kept: Mapping[str, Primitive], partition: SourcePartition) -> bool:
    """Whether a mapping still holds what was copied from it; 1 and True are equal, but not in the partition's key."""
    if kept != partition:
        return False
    for name, value in partition.items():  # noqa: SIM110 - for each record, and `all` takes three times as long
        if kept[name] is not value:
            return False
    return True
