"""Values of arrays of texts (`pyarrow`), for types whose common texts need no look at each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrayParser", "booleans", "dates", "decimals", "micros", "numbers", "same", "zoned_timestamps"]

ArrayParser: TypeAlias = "Callable[[pa.Array], pa.Array]"
"""Makes the values of texts, in the type that the schema has in Arrow; ValueError if one has to be looked at."""


def same(array: pa.Array) -> pa.Array:
    """Texts that are their values."""
    return array


def numbers(kind: str) -> ArrayParser:
    """What makes numbers of a type that pyarrow has, such as `int64`."""

    def parse(array: pa.Array) -> pa.Array:
        return array.cast(kind)

    return parse


def booleans(array: pa.Array) -> pa.Array:
    """Truth values of `t` and `f`."""
    import pyarrow.compute as pc

    return pc.equal(array, "t")


def decimals(precision: int, scale: int) -> ArrayParser | None:
    """What makes decimals; None if there are more digits than pyarrow has."""
    if precision > 38:
        return None

    def parse(array: pa.Array) -> pa.Array:
        import pyarrow as pa

        return array.cast(pa.decimal128(precision, scale))

    return parse


def dates(array: pa.Array) -> pa.Array:
    """Days since 1970 of dates."""
    import pyarrow as pa

    return array.cast(pa.date32()).cast(pa.int32())


def micros(array: pa.Array) -> pa.Array:
    """Microseconds since 1970 of timestamps."""
    import pyarrow as pa

    return array.cast(pa.timestamp("us")).cast(pa.int64())


def zoned_timestamps(precision: int, parse_one: Callable[[str], str]) -> ArrayParser:
    """What writes timestamps with so many digits behind the seconds as texts of ISO 8601 in UTC."""
    length = 22 + (precision + 1 if precision else 0)

    def parse(array: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        data = array.view(pa.binary())
        usual = pc.and_(pc.equal(pc.binary_length(data), length), pc.ends_with(data, b"+00"))
        for at, wanted in ((4, b"-"), (10, b" ")):
            usual = pc.and_(usual, pc.equal(pc.binary_slice(data, at, at + 1), wanted))
        in_utc = pc.binary_replace_slice(data, length - 3, length, b"Z")
        made = pc.binary_replace_slice(in_utc, 10, 11, b"T").view(pa.string())
        others = pc.fill_null(pc.invert(usual), fill_value=False)
        texts = [parse_one(one) for one in array.filter(others).to_pylist()]
        return pc.replace_with_mask(made, others, pa.array(texts, pa.string())) if texts else made

    return parse
