"""Rows whose values are held as arrays of texts, a column each (`pyarrow`), where there are many of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import pyarrow as pa

    from eosfw_postgres.pgoutput import Row

__all__ = ["RowArrays", "are_enough_for_arrays"]

_MANY, _ENOUGH_TO_IMPORT = 128, 1000
"""As for converters: so many rows are faster in arrays; to import pyarrow costs as much as some 100,000 values."""


class RowArrays(Sequence["Row"]):
    """A sequence of rows whose arrays are at hand; nobody changes one once it is made."""

    __slots__ = ("_length", "arrays")

    def __init__(self, arrays: Sequence[pa.Array], length: int) -> None:
        self.arrays = arrays
        """For each column of the relation a `pyarrow.Array` of texts; null is null."""
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> RowArrays: ...
    def __getitem__(self, at: int | slice) -> Row | RowArrays:
        if isinstance(at, slice):
            return RowArrays([one[at] for one in self.arrays], len(range(*at.indices(self._length))))
        return [one[at].as_py() for one in self.arrays]

    def __iter__(self) -> Iterator[Row]:
        return map(list, zip(*(one.to_pylist() for one in self.arrays), strict=True))


def are_enough_for_arrays(count: int) -> bool:
    """Whether so many rows are read faster as arrays, and pyarrow and numpy are there."""
    return count >= _MANY and ("pyarrow" in sys.modules or count >= _ENOUGH_TO_IMPORT) and _are_installed()


@cache
def _are_installed() -> bool:
    return all(map(find_spec, ("numpy", "pyarrow")))
