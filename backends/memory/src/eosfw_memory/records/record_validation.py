"""Step over the records of a batch without decoding them, to refuse bytes that no reader could read.

Records of one size are compared by columns, in slices with a stride: a few steps for a thousand of them. All others are
walked over one by one, reading small numbers in place; a call for each would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from eosfw_memory.log_errors import CorruptMessageError, InvalidRecordError, UnreadableRecordsError
from eosfw_memory.records.varints import read, read_unsigned

_WORTH_COMPARING: Final = 8
_WINDOW: Final = 16
"""Records that are compared before all that are left."""
_FIRST, _LOW = bytes(range(0, 0x80, 2)), bytes(range(0x80, 0x100, 2)) * 1024
_MIDDLE, _LAST = (b"".join(bytes((more + number,)) * 64 for number in range(128)) for more in (0x80, 0))
_RUNS: Final[Sequence[tuple[int, Sequence[bytes]]]] = (
    (64, (_FIRST,)),
    (8192, (_LOW, _LAST)),
    (65_536, (_LOW, _MIDDLE * 8, b"".join(bytes((number,)) * 8192 for number in range(8)))),
)
"""The bytes of offsets by column, up to where they take a byte more, so that those before and behind are not alike."""
_IS_MORE: Final = bytes(0x80) + b"\1" * 0x80
_MORE: Final = 0x80
"""Set in every byte of a number but its last."""
_LONGEST_SIZE: Final = 5
_SHORT_SIZE: Final = 2
_FEW: Final = 16
"""Different bytes in a column that are worth being taken out one by one."""


class RecordWalk:
    """Steps over records; what they have in common can be asked for afterwards."""

    __slots__ = ("_data", "deltas", "keyless", "shifted")

    def __init__(self, data: bytes, at: int, records: int) -> None:
        """Raise InvalidRecordError, or UnreadableRecordsError, unless so many records fill the data from `at` on."""
        self._data = data
        self.deltas: set[int] = set()
        """The distances of timestamps from the batch's first one, in zigzag."""
        self.keyless = False
        """Whether some record has no key."""
        self.shifted = False
        """Whether some offset does not count the records."""
        try:
            end = self._over(at, records) if records >= _WORTH_COMPARING else self._each(at, 0, records)
        except IndexError:
            raise InvalidRecordError("a record reaches beyond its batch") from None
        except CorruptMessageError as wrong:
            raise InvalidRecordError(wrong.message) from None
        if end != len(data):
            raise InvalidRecordError(f"{len(data) - end} bytes follow the last record of a batch")

    def _over(self, at: int, records: int) -> int:
        """Compare as many as are alike, step over some others, which are the more the less that helps."""
        first, patience = 0, _WORTH_COMPARING
        while first < records:
            bound, offsets = next((run for run in _RUNS if first < run[0]), (0, ()))
            some = min(records, bound) - first
            alike, behind = self._alike(at, first, some, offsets) if some >= _WORTH_COMPARING else (0, at)
            if alike >= _WORTH_COMPARING:
                first, at, patience = first + alike, behind, _WORTH_COMPARING
            else:
                some = min(patience, records - first)
                first, at, patience = first + some, self._each(at, first, some), patience * 2
        return at

    def _alike(self, start: int, first: int, most: int, offsets: Sequence[bytes]) -> tuple[int, int]:
        """Step over records that have the very sizes of the first one, and no headers; tell how many, and to where."""
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
        most = min(most, (len(data) - start) // step)
        count = self._leading(min(most, _WINDOW), step, start, same, stamp)
        if count == _WINDOW:
            count = self._leading(most, step, start, same, stamp)
        end = start + count * step
        expected = (column[first : first + count] for column in offsets)
        if any(data[at:end:step] != column for at, column in zip(range(offset, key), expected, strict=True)):
            return 0, start
        if count >= _WORTH_COMPARING:
            self._take_stamps(*(data[at:end:step] for at in stamp))
            self.keyless |= key_size & 1 == 1
        return count, end

    def _leading(self, count: int, step: int, start: int, same: Sequence[int], stamp: Sequence[int]) -> int:
        """How many records, of so many, begin with what the first has: sizes, and the length of the timestamp."""
        data = self._data
        for at in same:
            count = _run(data[at : start + count * step : step])
        for at in stamp:
            count = _run(data[at : start + count * step : step].translate(_IS_MORE))
        return count

    def _take_stamps(self, first: bytes, second: bytes = b"") -> None:
        """Take in timestamps of one byte or of two; few of them differ."""
        if not second:
            self.deltas.update(_distinct(first))
        elif _run(second) == len(second):
            self.deltas.update(low - _MORE + (second[0] << 7) for low in _distinct(first))
        else:
            self.deltas.update(low - _MORE + (high << 7) for low, high in set(zip(first, second, strict=True)))

    def _each(self, at: int, first: int, records: int) -> int:  # noqa: C901, PLR0912
        """Step over records one by one. Flat on purpose, see above."""
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
            if raw != due:
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
    """How many of the first bytes are the same."""
    first = column[:1]
    return len(column) if column == first * len(column) else len(column) - len(column.lstrip(first))


def _distinct(column: bytes) -> Collection[int]:
    """The bytes that occur: taking one out everywhere is much quicker than a look at each."""
    found = bytearray()
    while column and len(found) < _FEW:
        found.append(column[0])
        column = column.translate(None, column[:1])
    return {*found, *column} if column else found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of 32 bits, in zigzag, with the position behind it."""
    raw, behind = read_unsigned(data, at)
    if behind - at > _LONGEST_SIZE:
        raise InvalidRecordError(f"a length in a record takes more than {_LONGEST_SIZE} bytes")
    return raw, behind


def _long_size(data: bytes, at: int) -> tuple[int, int]:
    """The same for the size of a record, over which Kafka itself stumbles."""
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
