"""The counts of identities in Spark: how often each one was seen, and how often it is expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eosfw.errors import DamagedDataError
from eosfw.identity import HEADER_NAMES, UNIDENTIFIED_SHOWN, UnidentifiedRecords, identity_of, identity_text
from eosfw.protocols import Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

EXAMPLES: Final = 10
PLACES: Final = 5
_SHOWN: Final = 120


def write_expected(expected: Iterable[Sequence[bytes]], file: Path) -> None:
    """Write the expected identities to a parquet file, chunk by chunk, so that only one chunk is in memory."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("identity", pa.binary())])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in expected:
            writer.write_batch(pa.record_batch([pa.array(chunk, pa.binary())], schema=schema))


def seen_identities(frame: DataFrame, kind: str) -> DataFrame:
    """The identity of every record of a frame with Kafka's columns, with its place as far as the frame has it.

    It is null for a foreign record, which has none. An empty value is an identity.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    value = F.col("value").cast("binary")  # a value that was converted to text is converted back to bytes
    found = {"value": lambda: F.coalesce(value, F.lit(b"")), "headers": _from_headers}.get(
        kind, lambda: _from_field(kind, value)
    )()
    places = [name for name in ("topic", "partition", "offset", "batch", "file") if name in frame.columns]
    return frame.select(found.alias("identity"), *places)


def _from_headers() -> Column:
    """The identity from headers, as `identity_of` computes it, inside the JVM; null if a header is missing."""
    from pyspark.sql import functions as F  # noqa: N812

    def last(name: str) -> Column:
        named = F.filter("headers", lambda header: header["key"] == name)
        return F.when(F.size(named) > 0, F.element_at(named, -1)["value"])

    first, *others = (last(name) for name in HEADER_NAMES)
    return F.concat(first, *(part for other in others for part in (F.lit(b"\0"), other)))


def _from_field(kind: str, value: Column) -> Column:
    """The identity from a field, by a plain Python UDF: the Arrow UDFs of Spark 4.0 need pandas."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BinaryType

    def identify(value: bytes | None) -> bytes | None:
        try:
            return identity_of(None if value is None else bytes(value), None, kind)
        except DamagedDataError:
            return None

    return F.udf(identify, BinaryType(), useArrow=False)(value)


def count_by(columns: Sequence[str], seen: DataFrame, expected: DataFrame) -> DataFrame:
    """How often each identity in these columns was seen (`seen_`) and is expected (`expected_`)."""
    from pyspark.sql import functions as F  # noqa: N812

    # A union and one grouping, not a join: a join never matches null, which a grouping counts like any identity.
    both = seen.select(*columns, F.lit(1).alias("seen_"), F.lit(0).alias("expected_")).unionAll(
        expected.select("*", F.lit(0).alias("seen_"), F.lit(1).alias("expected_"))
    )
    return both.groupBy(*columns).agg(F.sum("seen_").alias("seen_"), F.sum("expected_").alias("expected_"))


def totals(counts: DataFrame, **more: str) -> tuple[int, ...]:
    """The duplicates, unexpected and missing ones, as `eosfw.count_difference` counts them, then the sums of `more`."""
    from pyspark.sql import functions as F  # noqa: N812

    sums = {
        "duplicates": "case when expected_ > 0 then greatest(seen_ - expected_, 0) end",
        "unexpected": "case when expected_ = 0 then seen_ end",
        "missing": "greatest(expected_ - seen_, 0)",
        **more,
    }
    zero = F.lit(0)
    columns = [F.coalesce(F.sum(F.expr(sql)), zero).alias(name) for name, sql in sums.items()]
    found = counts.select(*columns).first()
    return tuple(int(found[name]) if found else 0 for name in sums)


def count(seen: DataFrame, expected: DataFrame, kind: str) -> Verdict:
    """Count in one pass; a second pass collects examples if both sides differ.

    DamagedDataError names the records that carry no identity of this kind.
    """
    from pyspark.sql import functions as F  # noqa: N812

    differing = count_by(["identity"], seen, expected).where("seen_ <> expected_ or identity is null")
    sums = totals(differing, unidentified="case when identity is null then seen_ - expected_ end")
    duplicates, unexpected, missing, unidentified = sums
    if not (duplicates or unexpected or missing):
        return Verdict(0, 0)
    if unidentified:
        nameless = seen.where("identity is null").orderBy("topic", "partition", "offset").limit(UNIDENTIFIED_SHOWN)
        places = [_place(*row[1:]) for row in nameless.collect()]
        UnidentifiedRecords(kind, unidentified, places).refuse()
    excess = (F.col("seen_") - F.col("expected_")).alias("excess")
    wrong = differing.select("identity", excess).orderBy(F.desc("excess"), "identity").limit(EXAMPLES).collect()
    return Verdict(duplicates + unexpected, missing, _examples(wrong, seen))


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
    """One identity with its difference and some of its places, as text."""
    text = identity_text(identity)
    shown = repr(text[:_SHOWN] + ("..." if len(text) > _SHOWN else ""))
    where = f", seen at {', '.join(places)}" if places else ""
    return f"{shown} {f'{excess} too many' if excess > 0 else f'{-excess} missing'}{where}"
