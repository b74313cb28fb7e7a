"""Count in Spark how often each identity appears against how often it should."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eosfw.errors import DamagedDataError
from eosfw.identity import HEADER_NAMES, UNIDENTIFIED_SHOWN, UnidentifiedRecords, identity_of
from eosfw.protocols import Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

EXAMPLES: Final = 10
PLACES: Final = 5
_SHOWN: Final = 120


def write_expected(expected: Iterable[Sequence[bytes]], file: Path) -> None:
    """Keep the expected identities as parquet, chunk by chunk, so that no more than one is in memory."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("identity", pa.binary())])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in expected:
            writer.write_batch(pa.record_batch([pa.array(chunk, pa.binary())], schema=schema))


def seen_identities(frame: DataFrame, kind: str) -> DataFrame:
    """The identity of every record of a frame with Kafka's columns, with the place where it lies, if that is there.

    It is null for a record that carries none: somebody else wrote it. An empty value is an identity.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    value = F.col("value").cast("binary")  # where a text has been made of it, its bytes again
    found = {"value": lambda: F.coalesce(value, F.lit(b"")), "headers": _from_headers}.get(
        kind, lambda: _from_field(kind, value)
    )()
    places = [name for name in ("topic", "partition", "offset") if name in frame.columns]
    return frame.select(found.alias("identity"), *places)


def _from_headers() -> Column:
    """What `identity_of` says of headers, inside the JVM; null when one of them is missing."""
    from pyspark.sql import functions as F  # noqa: N812

    def last(name: str) -> Column:
        named = F.filter("headers", lambda header: header["key"] == name)
        return F.when(F.size(named) > 0, F.element_at(named, -1)["value"])

    first, *others = (last(name) for name in HEADER_NAMES)
    return F.concat(first, *(part for other in others for part in (F.lit(b"\0"), other)))


def _from_field(kind: str, value: Column) -> Column:
    """A plain function in Spark's workers: the Arrow kinds of 4.0 would need pandas."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BinaryType

    def identify(value: bytes | None) -> bytes | None:
        try:
            return identity_of(None if value is None else bytes(value), None, kind)
        except DamagedDataError:
            return None

    return F.udf(identify, BinaryType(), useArrow=False)(value)


def count(seen: DataFrame, expected: DataFrame, kind: str) -> Verdict:
    """Compare both sides in one pass; a second pass, for examples, only when they differ.

    DamagedDataError names the records that carry no identity of this kind.
    """
    from pyspark.sql import functions as F  # noqa: N812

    both = seen.select("identity", F.lit(1).alias("seen"), F.lit(0).alias("due")).unionAll(
        expected.select("identity", F.lit(0).alias("seen"), F.lit(1).alias("due"))
    )
    excess = (F.sum("seen") - F.sum("due")).alias("excess")
    differing = both.groupBy("identity").agg(excess).where("excess <> 0 or identity is null")
    total = differing.select(
        F.coalesce(F.sum(F.expr("case when identity is null then excess end")), F.lit(0)).alias("strangers"),
        F.coalesce(F.sum(F.greatest(F.col("excess"), F.lit(0))), F.lit(0)).alias("duplicates"),
        F.coalesce(F.sum(F.greatest(-F.col("excess"), F.lit(0))), F.lit(0)).alias("missing"),
    ).first()
    if total is None or not (total["duplicates"] or total["missing"]):
        return Verdict(0, 0)
    if total["strangers"]:
        _strangers(seen, kind, total["strangers"]).refuse()
    wrong = differing.orderBy(F.desc("excess"), "identity").limit(EXAMPLES).collect()
    return Verdict(total["duplicates"], total["missing"], _examples(wrong, seen))


def _strangers(seen: DataFrame, kind: str, count: int) -> UnidentifiedRecords:
    nameless = seen.where("identity is null").orderBy("topic", "partition", "offset").limit(UNIDENTIFIED_SHOWN)
    return UnidentifiedRecords(kind, count, [_place(*row[1:]) for row in nameless.collect()])


def _place(topic: str, partition: int, offset: int) -> str:
    return f"{topic}-{partition}@{offset}"


def _examples(wrong: Sequence[Row], seen: DataFrame) -> tuple[str, ...]:
    from pyspark.sql import functions as F  # noqa: N812

    identities = [bytes(row["identity"]) for row in wrong]
    found = (
        seen.where(F.col("identity").isin(identities))
        .groupBy("identity")
        .agg(F.slice(F.sort_array(F.collect_list(F.struct("topic", "partition", "offset"))), 1, PLACES).alias("at"))
        .collect()
    )
    places = {bytes(row["identity"]): [_place(*at) for at in row["at"]] for row in found}
    return tuple(
        example(identity, row["excess"], places.get(identity, []))
        for identity, row in zip(identities, wrong, strict=True)
    )


def example(identity: bytes, excess: int, places: Sequence[str]) -> str:
    """Say of one identity how it differs, with some of the places where it lies."""
    text = identity.replace(b"\0", b" ").decode(errors="backslashreplace")
    shown = repr(text[:_SHOWN] + ("..." if len(text) > _SHOWN else ""))
    where = f", seen at {', '.join(places)}" if places else ""
    return f"{shown} {f'{excess} too many' if excess > 0 else f'{-excess} missing'}{where}"
