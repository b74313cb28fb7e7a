"""Keep the offsets of records that a producer accepted until they are committed (TXN-04)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from eosfw.records import SourceOffset, SourcePartition

Offset = tuple[SourcePartition, SourceOffset | None]


class OffsetLedger:
    """The last offset of each source partition since the last commit; the last note wins.

    A source partition is always spelt as it was spelt first, since the bytes of its key decide where an offset lies:
    the same mapping in another order would be another key of the compacted topic, next to the old one.
    """

    def __init__(
        self, key_of: Callable[[SourcePartition], str], committed: Mapping[str, tuple[SourcePartition, SourceOffset]]
    ) -> None:
        self._key_of = key_of
        self._spelling: dict[str, SourcePartition] = {key: partition for key, (partition, _) in committed.items()}
        self._noted: dict[str, SourceOffset | None] = {}
        self._last: tuple[SourcePartition, str] | None = None

    def note(self, partition: SourcePartition, offset: SourceOffset | None) -> None:
        """Remember the offset behind an accepted record."""
        last = self._last
        # Records of one partition come in runs: comparing is cheaper than making the key again.
        if last is not None and last[0] is partition:
            self._noted[last[1]] = offset
            return
        key = self._key_of(partition)
        self._last = (partition, key)
        self._spelling.setdefault(key, partition)
        self._noted[key] = offset

    def pending(self) -> Sequence[Offset]:
        """What a commit now must state."""
        return [(self._spelling[key], offset) for key, offset in self._noted.items()]

    def committed(self) -> None:
        """Forget what was pending: it is stated."""
        self._noted.clear()
