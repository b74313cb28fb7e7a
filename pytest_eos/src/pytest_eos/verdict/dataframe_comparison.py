"""Compare DataFrames in Spark; only examples are collected into this process."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosfw.count_difference import Mismatch
from eosfw.records import SourceRecord
from pytest_eos.runs.queries.dataframe_keys import PLACE, POSITION, is_frame, with_key_columns
from pytest_eos.verdict.difference import EXAMPLES, PLACES, Difference, identity_text, not_unique_message

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


def duplicates_in_frame(seen: DataFrame, key: Any) -> Difference:
    """Identities that appear more than once."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    marked, columns = with_key_columns(seen, key)
    groups = marked.groupBy(*columns).agg(F.count(F.lit(1)).alias("seen_"), F.lit(1).cast("long").alias("expected_"))
    return _difference(groups, marked, columns)


def compare_frame(seen: DataFrame, expected: Any, key: Any) -> Difference:
    """Compare a frame with what is expected: counts by identity, values of the key's columns, or another frame.

    ValueError when expected values or rows are not unique, TypeError when they do not fit the key's columns.
    """
    from eosfw_spark.identity_counts import count_by

    marked, columns = with_key_columns(seen, key)
    folder = Path(tempfile.mkdtemp(prefix="eos-expected-"))
    try:
        expected_identities = _expected_frame(marked.select(*columns), expected, key, folder)
        return _difference(
            count_by(columns, marked, expected_identities), marked, columns, unique=not isinstance(expected, Counter)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _expected_frame(like: DataFrame, expected: Any, key: Any, folder: Path) -> DataFrame:
    if is_frame(expected):
        frame, columns = with_key_columns(expected, key, "the expected DataFrame")
        return frame.select(*columns)
    if not isinstance(expected, Counter):
        return _values_frame(like, expected, key)
    from eosfw_spark.identity_counts import write_expected

    file = folder / "expected.parquet"
    write_expected([list(expected.elements())], file)
    return like.sparkSession.read.schema("identity binary").parquet(str(file))


def _values_frame(like: DataFrame, expected: Sequence[Any], key: Any) -> DataFrame:
    from pyspark.errors import PySparkTypeError, PySparkValueError
    from pyspark.sql.types import StructField, StructType

    if any(isinstance(one, SourceRecord) for one in expected):
        raise TypeError(
            f"key {key!r}: SourceRecords have no such column; expect its values, or another DataFrame, or keep the "
            f"columns `headers` or `value`, by which SourceRecords are known"
        )
    rows = [one if isinstance(one, tuple) else (one,) for one in expected]
    schema = StructType([StructField(field.name, field.dataType) for field in like.schema])
    try:
        return like.sparkSession.createDataFrame(rows, schema)
    except (PySparkTypeError, PySparkValueError) as why:
        kinds = ", ".join(field.dataType.simpleString() for field in schema)
        raise TypeError(f"key {key!r}: expected values do not fit its columns, of type {kinds}: {why}") from why


def _difference(groups: DataFrame, marked: DataFrame, columns: list[str], *, unique: bool = False) -> Difference:
    from eosfw_spark.identity_counts import totals

    sums = totals(groups, repeated="case when expected_ > 1 then 1 end", compared="seen_ + expected_")
    duplicates, unexpected, missing, repeated, compared = sums
    if unique and repeated:
        example = groups.where("expected_ > 1").limit(1).collect()[0]
        raise ValueError(not_unique_message(repeated, identity_text(_identity(example, columns))))
    examples = _examples(groups, marked, columns) if duplicates or unexpected or missing else []
    # Duplicates, then unexpected ones, then missing ones, each by identity: the same order in every run.
    ordered = sorted(examples, key=lambda one: (one.excess < 0, one.expected == 0, repr(one.identity)))
    return Difference(duplicates, unexpected, missing, tuple(ordered), compared)


def _examples(groups: DataFrame, marked: DataFrame, columns: list[str]) -> list[Mismatch]:
    """Some mismatches of each kind, with some of their places."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    kind = F.expr(
        "case when seen_ < expected_ then 'missing' when expected_ = 0 then 'unexpected' else 'duplicate' end"
    )
    rank = F.row_number().over(Window.partitionBy("kind_").orderBy(*columns))
    mismatches = (
        groups.where("seen_ <> expected_")
        .withColumn("kind_", kind)
        .withColumn("rank_", rank)
        .where(f"rank_ <= {EXAMPLES}")
    ).collect()
    places = _places([[row[name] for name in columns] for row in mismatches], marked, columns)
    return [
        Mismatch(_identity(row, columns), row["seen_"], row["expected_"], tuple(places.get(number, ())))
        for number, row in enumerate(mismatches)
    ]


def _places(mismatches: Sequence[Sequence[Any]], marked: DataFrame, columns: list[str]) -> dict[int, list[str]]:
    """The places of identities, by their number, as far as the frame has kept Kafka's columns."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import IntegerType, StructField, StructType

    there = [name for name in PLACE if name in marked.columns]
    if not there:
        return {}
    wanted_schema = [StructField(f"odd_{name}", marked.schema[name].dataType) for name in columns]
    schema = StructType([StructField("number_", IntegerType()), *wanted_schema])
    wanted = marked.sparkSession.createDataFrame([(number, *key) for number, key in enumerate(mismatches)], schema)
    same = [marked[name].eqNullSafe(wanted[f"odd_{name}"]) for name in columns]
    rank = F.row_number().over(Window.partitionBy("number_").orderBy(*there))
    rows = marked.join(F.broadcast(wanted), same).select("number_", *there, rank.alias("rank_"))
    found: dict[int, list[str]] = {}
    for row in rows.where(f"rank_ <= {PLACES}").orderBy("number_", "rank_").collect():
        found.setdefault(row["number_"], []).append(_place({name: row[name] for name in there}))
    return found


def _place(columns: dict[str, Any]) -> str:
    if all(columns.get(name) is not None for name in POSITION):
        return "{topic}-{partition}@{offset}".format(**columns)
    columns = {name: value for name, value in columns.items() if value is not None}
    return ", ".join(f"{name} {value}" for name, value in columns.items())


def _identity(row: Row, columns: Sequence[str]) -> object:
    values = tuple(row[name] for name in columns)
    one = values[0] if len(values) == 1 else values
    return bytes(one) if isinstance(one, bytearray) else one
