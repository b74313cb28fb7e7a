"""Keep the offsets of records that a producer accepted until they are committed (TXN-04)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from eosfw.errors import TaskFailedError
from eosfw.records import Primitive, SourceOffset, SourcePartition

Offset = tuple[SourcePartition, SourceOffset | None]


class PendingOffsets:
    """The last offset of each source partition since the last commit; the last note wins.

    What was read from the topic is handed back as the offset store read it (`StoredPartition`), whatever order a task
    uses, since a store may keep there under which key of the compacted topic the partition lies.

    Kafka Connect's `OffsetStorageWriter` keeps them so; writing them is left to the transaction of the task.
    """

    def __init__(
        self, key_of: Callable[[SourcePartition], str], committed: Mapping[str, tuple[SourcePartition, SourceOffset]]
    ) -> None:
        self._key_of = key_of
        self._spelling: dict[str, SourcePartition] = {key: partition for key, (partition, _) in committed.items()}
        self._noted: dict[str, SourceOffset | None] = {}
        self._last: tuple[SourcePartition, dict[str, Primitive], str] | None = None

    def note(self, partition: SourcePartition, offset: SourceOffset | None) -> None:
        """Remember the offset behind an accepted record, as it is now: a task may go on with the same mapping."""
        try:
            self._noted[self._key(partition)] = None if offset is None else dict(offset)
        except (TypeError, ValueError) as why:
            raise TaskFailedError(
                f"source partition {partition!r} or source offset {offset!r} is no mapping that can be stored: {why}"
            ) from None

    def _key(self, partition: SourcePartition) -> str:
        last = self._last
        # Records of one partition come in runs: to compare is cheaper than to make the key again.
        if last is not None and last[0] is partition and last[1] == partition:
            return last[2]
        kept, key = dict(partition), self._key_of(partition)
        self._last = (partition, kept, key)
        self._spelling.setdefault(key, kept)
        return key

    def items(self) -> Sequence[Offset]:
        """What a commit now must state."""
        return [(self._spelling[key], offset) for key, offset in self._noted.items()]

    def committed(self) -> None:
        """Forget what was pending: it is stated."""
        self._noted.clear()
