"""Count in Spark how often each identity appears against how often it should."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eosfw.errors import DamagedDataError
from eosfw.identity import identity_of
from eosfw.protocols import Verdict

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

EXAMPLES: Final = 10
PLACES: Final = 5
_SHOWN: Final = 120
SCHEMA: Final = "identity binary, topic string, partition int, offset long"


def write_expected(expected: Iterable[Sequence[bytes]], file: Path) -> None:
    """Keep the expected identities as parquet, chunk by chunk, so that no more than one is in memory."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("identity", pa.binary())])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in expected:
            writer.write_batch(pa.record_batch([pa.array(chunk, pa.binary())], schema=schema))


def seen_identities(frame: DataFrame, kind: str) -> DataFrame:
    """The identity of every record of a frame with Kafka's columns, with the place where it lies."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    place = ("topic", "partition", "offset")
    if kind == "value":
        return frame.select(F.coalesce("value", F.lit(b"")).alias("identity"), *place)

    def identify(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (_identified(batch, kind) for batch in batches)

    needed = "headers" if kind == "headers" else "value"
    return frame.select(needed, *place).mapInArrow(identify, SCHEMA)


def _identified(batch: pa.RecordBatch, kind: str) -> pa.RecordBatch:
    import pyarrow as pa

    found = pa.array([_identity(row, kind) for row in batch.column(0).to_pylist()], pa.binary())
    names = ["identity", "topic", "partition", "offset"]
    return pa.RecordBatch.from_arrays([found, *batch.columns[1:]], names=names)


def _identity(cell: object, kind: str) -> bytes:
    """A record without identity counts as one that nobody expected: the empty identity, which no record can have."""
    try:
        if isinstance(cell, list):
            return identity_of(None, tuple((each["key"], each["value"]) for each in cell), kind)
        return identity_of(cell if isinstance(cell, bytes) else None, None, kind)
    except DamagedDataError:
        return b""


def count(seen: DataFrame, expected: DataFrame) -> Verdict:
    """Compare both sides in one pass; a second pass, for examples, only when they differ."""
    from pyspark.sql import functions as F  # noqa: N812

    both = seen.select("identity", F.lit(1).alias("seen"), F.lit(0).alias("due")).unionAll(
        expected.select("identity", F.lit(0).alias("seen"), F.lit(1).alias("due"))
    )
    excess = (F.sum("seen") - F.sum("due")).alias("excess")
    differing = both.groupBy("identity").agg(excess).where("excess <> 0")
    total = differing.select(
        F.coalesce(F.sum(F.greatest(F.col("excess"), F.lit(0))), F.lit(0)).alias("duplicates"),
        F.coalesce(F.sum(F.greatest(-F.col("excess"), F.lit(0))), F.lit(0)).alias("missing"),
    ).first()
    if total is None or not (total["duplicates"] or total["missing"]):
        return Verdict(0, 0)
    wrong = differing.orderBy(F.desc("excess"), "identity").limit(EXAMPLES).collect()
    return Verdict(total["duplicates"], total["missing"], _examples(wrong, seen))


def _examples(wrong: Sequence[Row], seen: DataFrame) -> tuple[str, ...]:
    from pyspark.sql import functions as F  # noqa: N812

    identities = [bytes(row["identity"]) for row in wrong]
    found = (
        seen.where(F.col("identity").isin(identities))
        .groupBy("identity")
        .agg(F.slice(F.sort_array(F.collect_list(F.struct("topic", "partition", "offset"))), 1, PLACES).alias("at"))
        .collect()
    )
    places = {
        bytes(row["identity"]): [f"{topic}-{partition}@{offset}" for topic, partition, offset in row["at"]]
        for row in found
    }
    return tuple(
        example(identity, row["excess"], places.get(identity, []))
        for identity, row in zip(identities, wrong, strict=True)
    )


def example(identity: bytes, excess: int, places: Sequence[str]) -> str:
    """Say of one identity how it differs, with some of the places where it lies."""
    text = identity.replace(b"\0", b" ").decode(errors="backslashreplace")
    shown = repr(text[:_SHOWN] + ("..." if len(text) > _SHOWN else "")) if identity else "a record without identity"
    where = f", seen at {', '.join(places)}" if places else ""
    return f"{shown} {f'{excess} too many' if excess > 0 else f'{-excess} missing'}{where}"
