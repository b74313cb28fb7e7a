"""Step over the records of a batch without decoding them, to refuse bytes that no reader could read.

Records of one size are compared by columns, in slices with a stride: a few steps for a thousand of them. All others are
walked over one by one, reading small numbers in place; a call for each would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eosfw_memory.log.errors import CorruptMessageError, InvalidRecordError, UnreadableRecordsError
from eosfw_memory.log.varints import VARINT, read, read_unsigned

_RUNS: Final = (64, 8192)
"""The records at which offsets take a byte more, so that those before and behind cannot be alike."""
_WORTH_COMPARING: Final = 8
_ONE, _TWO = (b"".join(map(VARINT.__getitem__, range(*bounds))) for bounds in ((0, _RUNS[0]), _RUNS))
_OFFSETS: Final[Sequence[Sequence[bytes]]] = ((_ONE,), (_TWO[::2], _TWO[1::2]))
"""The bytes of the offsets of each run, by column."""
_MORE: Final = 0x80
"""Set in every byte of a number but its last."""
_LONGEST_SIZE: Final = 5
_SHORT_SIZE: Final = 2


class Walk:
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
            end = self._over(at, records)
        except IndexError:
            raise InvalidRecordError("a record reaches beyond its batch") from None
        except CorruptMessageError as wrong:
            raise InvalidRecordError(wrong.message) from None
        if end != len(data):
            raise InvalidRecordError(f"{len(data) - end} bytes follow the last record of a batch")

    def _over(self, at: int, records: int) -> int:
        if records < _WORTH_COMPARING:
            return self._each(at, 0, records)
        first = 0
        for bound, offsets in zip(_RUNS, _OFFSETS, strict=True):
            some = min(records, bound) - first
            behind = self._alike(at, some, offsets) if some >= _WORTH_COMPARING else 0
            at = behind or self._each(at, first, some)
            first += some
        return self._each(at, first, records - first)

    def _alike(self, start: int, records: int, offsets: Sequence[bytes]) -> int:
        """Step over records that have the very sizes of the first, and no headers; give 0 if they have not."""
        data = self._data
        size, body = read_unsigned(data, start)
        offset = read_unsigned(data, body + 1)[1]
        key = offset + len(offsets)
        key_size, behind_key = read_unsigned(data, key)
        value = behind_key if key_size & 1 else behind_key + (key_size >> 1)
        value_size, behind_value = read_unsigned(data, value)
        last = behind_value if value_size & 1 else behind_value + (value_size >> 1)
        step = last + 1 - start
        end = start + step * records
        if end > len(data) or data[last] or body + (size >> 1) != last + 1 or body - start > _SHORT_SIZE:
            return 0
        for at in (*range(start, body), *range(key, behind_key), *range(value, behind_value), last):
            if data[at:end:step] != data[at : at + 1] * records:
                return 0
        for at, expected in enumerate(offsets, offset):
            if data[at:end:step] != expected[:records]:
                return 0
        if not self._stamped_alike(*(data[at:end:step] for at in range(body + 1, offset))):
            return 0
        self.keyless |= key_size & 1 == 1
        return end

    def _stamped_alike(self, first: bytes, second: bytes = b"", *more: bytes) -> bool:
        """Take in timestamps that all have one byte, or all have two."""
        if more or max(second or first) >= _MORE or (second and min(first) < _MORE):
            return False
        if second:
            self.deltas.update(low - _MORE + (high << 7) for low, high in set(zip(first, second, strict=True)))
        else:
            self.deltas.update(first)
        return True

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
                add(raw)
                last = raw
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
