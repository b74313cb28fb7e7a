"""Where the records and the offsets of a source are in its replay."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from eosfw.identity import identity_headers, identity_of
from eosfw.records import SourceOffset, SourcePartition, SourceRecord
from pytest_eos.runs.identities import expected_identity

Position = tuple[str, int]
"""Source partition, and the index of a record among those that the replay gives of it."""
_KIND = "headers"


class SourcePositions:
    """The replay of a source gives its offsets an order, whatever they are made of.

    An offset is where its record is. Records that share one offset one after the other are told apart by nothing, and
    the offset is where the last of them is. One that comes again later is nowhere.
    """

    def __init__(self, connector: str, replayed: Sequence[SourceRecord]) -> None:
        self._connector = connector
        identities = [expected_identity(record, _KIND, connector) for record in replayed]
        times = Counter(identities)
        counted: dict[str, int] = defaultdict(int)
        last: dict[str, bytes] = {}
        again: set[bytes] = set()
        self._of_records: dict[bytes, Position] = {}
        self._of_offsets: dict[bytes, Position] = {}
        for record, identity in zip(replayed, identities, strict=True):
            part = text_of(record.source_partition)
            position = part, counted[part]
            counted[part] += 1
            if times[identity] == 1:
                self._of_records[identity] = position
            elif identity in self._of_offsets and last[part] != identity:
                again.add(identity)
            self._of_offsets[identity] = position
            last[part] = identity
        for identity in again:
            del self._of_offsets[identity]

    def __iter__(self) -> Iterator[Position]:
        return iter(self._of_records.values())

    def of_record(self, identity: bytes) -> dict[str, Any]:
        """Where the record with this identity is, as fields of an operation; none if that is not known."""
        position = self._of_records.get(identity)
        return {} if position is None else {"src_part": position[0], "src_off": position[1]}

    def of_offset(self, partition: SourcePartition, offset: SourceOffset) -> dict[str, Any]:
        """The same of an offset: where the last record is that it covers."""
        identity = identity_of(None, identity_headers(self._connector, partition, offset), _KIND)
        position = self._of_offsets.get(identity)
        return {} if position is None else {"src_part": position[0], "src_off": position[1]}


def text_of(partition: SourcePartition) -> str:
    """A source partition as one text, whatever the order of its names."""
    return str(dict(sorted(partition.items())))
