"""Step over the records of a batch without decoding them, to refuse bytes that no reader could read.

A record is a size, then attributes, timestamp delta, offset delta, key, value and headers; sizes and deltas are
varints. Records of one size have each field at one distance from their start. So they are compared by columns:
`data[at::size]` is the same byte of every record, and a few slices check a thousand records in less than a tenth of the
time (benchmarks/RESULTS.md). All others are stepped over one by one. That loop reads varints of up to two bytes in
place, since a call for each number would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from eosfw_memory.common.log_errors import CorruptMessageError, InvalidRecordError, UnreadableRecordsError
from eosfw_memory.storage.records.varints import read, read_unsigned

_WORTH_COMPARING: Final = 8
_WINDOW: Final = 16
"""How many records are compared before it is worth comparing all that are left."""
# In zigzag the offset deltas 0, 1, 2 … read 0, 2, 4 …: these are the bytes of their varints, column by column.
_FIRST, _LOW = bytes(range(0, 0x80, 2)), bytes(range(0x80, 0x100, 2)) * 1024
_MIDDLE, _LAST = (b"".join(bytes((more + number,)) * 64 for number in range(128)) for more in (0x80, 0))
_RUNS: Final[Sequence[tuple[int, Sequence[bytes]]]] = (
    (64, (_FIRST,)),
    (8192, (_LOW, _LAST)),
    (65_536, (_LOW, _MIDDLE * 8, b"".join(bytes((number,)) * 8192 for number in range(8)))),
)
"""Up to which offset a delta has one, two or three bytes, and those bytes of all deltas, column by column."""
_IS_MORE: Final = bytes(0x80) + b"\1" * 0x80
_MORE: Final = 0x80
"""The bit that is set in every byte of a varint but its last."""
# Bytes of a varint of 32 bits.
_LONGEST_SIZE: Final = 5
_SHORT_SIZE: Final = 2
_FEW: Final = 16
"""Up to how many different bytes of a column are found by removing one after the other."""


class RecordWalk:
    """Steps over the records of a batch, checks their layout, and notes what a broker has to know of them."""

    __slots__ = ("_data", "deltas", "keyless", "shifted")

    def __init__(self, data: bytes, at: int, records: int) -> None:
        """Raise InvalidRecordError or UnreadableRecordsError unless `records` records fill the data from `at` on."""
        self._data = data
        self.deltas: set[int] = set()
        """The distances of timestamps from the batch's first one, in zigzag."""
        self.keyless = False
        """Whether some record has no key."""
        self.shifted = False
        """Whether some offset delta is not the number of its record in the batch."""
        try:
            end = (
                self._step_over_columns(at, records)
                if records >= _WORTH_COMPARING
                else self._step_over_each(at, 0, records)
            )
        except IndexError:
            raise InvalidRecordError("a record reaches beyond its batch") from None
        except CorruptMessageError as wrong:
            raise InvalidRecordError(str(wrong)) from None
        if end != len(data):
            raise InvalidRecordError(f"{len(data) - end} bytes follow the last record of a batch")

    def _step_over_columns(self, at: int, records: int) -> int:
        """Compare records by columns where that works, and step over the others.

        After each comparison that fails twice as many records are stepped over before the next one, so that records of
        different sizes cost at most a few comparisons.
        """
        first, some_more = 0, _WORTH_COMPARING
        while first < records:
            bound, offsets = next((run for run in _RUNS if first < run[0]), (0, ()))
            some = min(records, bound) - first
            alike, behind = self._of_one_size(at, first, some, offsets) if some >= _WORTH_COMPARING else (0, at)
            if alike >= _WORTH_COMPARING:
                first, at, some_more = first + alike, behind, _WORTH_COMPARING
            else:
                some = min(some_more, records - first)
                first, at, some_more = first + some, self._step_over_each(at, first, some), some_more * 2
        return at

    def _of_one_size(self, start: int, first: int, most: int, offsets: Sequence[bytes]) -> tuple[int, int]:
        """Step over records with exactly the sizes of the first one and no headers; give their number and their end."""
        data = self._data
        size, body = read_unsigned(data, start)
        offset = read_unsigned(data, body + 1)[1]
        key = offset + len(offsets)
        key_size, behind_key = read_unsigned(data, key)
        value = behind_key if key_size & 1 else behind_key + (key_size >> 1)
        value_size, behind_value = read_unsigned(data, value)
        last = behind_value if value_size & 1 else behind_value + (value_size >> 1)
        step = last + 1 - start
        if (
            data[last]
            or body + (size >> 1) != last + 1
            or body - start > _SHORT_SIZE
            or offset - body > _SHORT_SIZE + 1
        ):
            return 0, start
        same = (*range(start, body), *range(key, behind_key), *range(value, behind_value), last)
        stamp = range(body + 1, offset)
        # A batch may declare more records than it has bytes.
        most = min(most, (len(data) - start) // step)
        count = self._equal_from_start(min(most, _WINDOW), step, start, same, stamp)
        if count == _WINDOW:
            count = self._equal_from_start(most, step, start, same, stamp)
        end = start + count * step
        expected = (column[first : first + count] for column in offsets)
        if any(data[at:end:step] != column for at, column in zip(range(offset, key), expected, strict=True)):
            return 0, start
        if count >= _WORTH_COMPARING:
            self._note_timestamps(*(data[at:end:step] for at in stamp))
            self.keyless |= key_size & 1 == 1
        return count, end

    def _equal_from_start(self, count: int, step: int, start: int, same: Sequence[int], stamp: Sequence[int]) -> int:
        """How many of the first records have the sizes of the first one, and timestamps of as many bytes."""
        data = self._data
        for at in same:
            count = _run(data[at : start + count * step : step])
        for at in stamp:
            count = _run(data[at : start + count * step : step].translate(_IS_MORE))
        return count

    def _note_timestamps(self, first: bytes, second: bytes = b"") -> None:
        """Note timestamp deltas of one byte or of two; few of them differ."""
        if not second:
            self.deltas.update(_distinct(first))
        elif _run(second) == len(second):
            self.deltas.update(low - _MORE + (second[0] << 7) for low in _distinct(first))
        else:
            self.deltas.update(low - _MORE + (high << 7) for low, high in set(zip(first, second, strict=True)))

    def _step_over_each(self, at: int, first: int, records: int) -> int:  # noqa: C901, PLR0912
        """Step over records one by one; one flat loop, for the reason at the top of this module."""
        data, add, last, due = self._data, self.deltas.add, -1, first << 1
        for _ in range(records):
            if (raw := data[at]) < 0x80:
                at += 1
            elif (high := data[at + 1]) < 0x80:
                raw, at = raw - 0x80 + (high << 7), at + 2
            else:
                raw, at = _long_size(data, at)
            end = at + (raw >> 1)
            if (raw := data[at + 1]) < 0x80:  # behind the attributes, which mean nothing yet
                at += 2
            elif (high := data[at + 2]) < 0x80:
                raw, at = raw - 0x80 + (high << 7), at + 3
            else:
                raw, at = read_unsigned(data, at + 1)
            if raw != last:
                add(last := raw)
            if (raw := data[at]) < 0x80:
                at += 1
            elif (high := data[at + 1]) < 0x80:
                raw, at = raw - 0x80 + (high << 7), at + 2
            else:
                raw, at = _number(data, at)
            if raw != due:  # in zigzag the delta of record n reads 2n
                self.shifted = True
            due += 2
            if (raw := data[at]) < 0x80:
                at += 1
            elif (high := data[at + 1]) < 0x80:
                raw, at = raw - 0x80 + (high << 7), at + 2
            else:
                raw, at = _number(data, at)
            if raw & 1:  # a negative length stands for null
                self.keyless = True
            else:
                at += raw >> 1
            if (raw := data[at]) < 0x80:
                at += 1
            elif (high := data[at + 1]) < 0x80:
                raw, at = raw - 0x80 + (high << 7), at + 2
            else:
                raw, at = _number(data, at)
            if not raw & 1:
                at += raw >> 1
            at = at + 1 if data[at] == 0 else _behind_headers(data, at)
            if at != end:
                raise InvalidRecordError(f"a record ends at byte {at} where byte {end} was declared")
        return at


def _run(column: bytes) -> int:
    """How many of the first bytes are equal."""
    first = column[:1]
    return len(column) if column == first * len(column) else len(column) - len(column.lstrip(first))


def _distinct(column: bytes) -> Collection[int]:
    """The different bytes of a column: removing one byte everywhere is much faster than reading each."""
    found = bytearray()
    while column and len(found) < _FEW:
        found.append(column[0])
        column = column.translate(None, column[:1])
    return {*found, *column} if column else found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """The zigzag number of up to 32 bits at a position, with the position behind it."""
    raw, behind = read_unsigned(data, at)
    if behind - at > _LONGEST_SIZE:
        raise InvalidRecordError(f"a length in a record takes more than {_LONGEST_SIZE} bytes")
    return raw, behind


def _long_size(data: bytes, at: int) -> tuple[int, int]:
    """The size of a record at a position, with the position behind it; Kafka fails with another error for this one."""
    if min(data[at : at + _LONGEST_SIZE]) >= _MORE and at + _LONGEST_SIZE <= len(data):
        raise UnreadableRecordsError(f"the size of a record takes more than {_LONGEST_SIZE} bytes")
    return read_unsigned(data, at)


def _behind_headers(data: bytes, at: int) -> int:
    number, at = read(data, at)
    if not 0 <= number <= len(data) - at:
        raise InvalidRecordError(f"a record declares {number} headers")
    for _ in range(number):
        name, at = _number(data, at)
        if name & 1:
            raise InvalidRecordError("a header has no name")
        value, at = _number(data, at + (name >> 1))
        at += 0 if value & 1 else value >> 1
    return at
