"""The log of transactions (`__transaction_state`) of a run's producers, for the checker."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from eosfw.records import LogBatch

_STATES: Final = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip
"""By their numbers in Kafka's `TransactionState`."""
_ONGOING: Final = _STATES.index("Ongoing")
_HEAD: Final = struct.Struct(">hqhib")
"""Of a value: version, producer id, epoch, timeout, state."""
_NUMBER: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">h")
_MORE: Final = 0x80


def transaction_states(batches: Iterable[LogBatch], transactional_ids: Collection[str]) -> Iterator[dict[str, Any]]:
    """Every state of these ids in the log of transactions, as fields of operations.

    The records are decoded here, by Kafka's `TransactionLogValue` in its versions 0 and 1.
    """
    for batch in batches:
        for key, value in zip(batch.keys, batch.values, strict=True):
            name = (key or b"")[4:].decode(errors="replace")
            if name in transactional_ids and value is not None:
                yield {"proc": "coordinator", "op": "txn-state", "type": "ok", "tid": name, **_decoded(value)}


def _decoded(value: bytes) -> dict[str, Any]:
    version, pid, epoch, _, state = _HEAD.unpack_from(value)
    facts = {"val": _STATES[state], "pid": pid, "epoch": epoch}
    if state != _ONGOING:  # the partitions are those that it had before
        return facts
    fields = _Fields(value, _HEAD.size, flexible=version > 0)
    parts: list[str] = []
    for _ in range(fields.count()):
        topic = fields.text()
        parts += [f"{topic}-{fields.number()}" for _ in range(fields.count())]
        fields.skip_tags()
    return {**facts, "ids": tuple(parts)}


class _Fields:
    """Reads the fields of a message from a place on; flexible versions have lengths of one byte or more."""

    def __init__(self, message: bytes, at: int, *, flexible: bool) -> None:
        self._message, self._at, self._flexible = message, at, flexible

    def count(self) -> int:
        """The length of an array, 0 for null."""
        return max(0, self._varint() - 1 if self._flexible else self.number())

    def text(self) -> str:
        """A text."""
        length = self._varint() - 1 if self._flexible else self._unpacked(_LENGTH)
        self._at += length
        return self._message[self._at - length : self._at].decode()

    def number(self) -> int:
        """A number of four bytes."""
        return self._unpacked(_NUMBER)

    def skip_tags(self) -> None:
        """Step over the tagged fields of a flexible version."""
        for _ in range(self._varint() if self._flexible else 0):
            self._varint()
            self._at += self._varint()

    def _unpacked(self, kind: struct.Struct) -> int:
        (found,) = kind.unpack_from(self._message, self._at)
        self._at += kind.size
        return int(found)

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._message[self._at]
            self._at += 1
            found |= (byte & (_MORE - 1)) << shift
            shift += 7
            if not byte & _MORE:
                return found
