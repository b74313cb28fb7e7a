"""Count in Spark, so that a DataFrame never has to fit into this process."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_eos.difference import EXAMPLES, PLACES, Difference, Odd, said_repeated, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLACE = ("topic", "partition", "offset")


def is_frame(thing: Any) -> bool:
    """Whether something is a DataFrame, without loading Spark to find out."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(thing, module.DataFrame)


def duplicates_in_frame(seen: DataFrame, kind: Any) -> Difference:
    """Identities that appear more than once."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    marked, columns = _identified(seen, kind)
    groups = marked.groupBy(*columns).agg(F.count(F.lit(1)).alias("seen_"), F.lit(1).cast("long").alias("due_"))
    return _difference(groups.where("seen_ > 1"), marked, columns)


def compare_frame(seen: DataFrame, expected: Any, kind: Any) -> Difference:
    """Compare a frame with what is expected: counts by identity, values of the key's column, or another frame."""
    marked, columns = _identified(seen, kind)
    folder = Path(tempfile.mkdtemp(prefix="eos-expected-"))
    try:
        due = _due(marked, columns, expected, folder)
        return _compared(marked, due, columns, unique=not isinstance(expected, Counter))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _identified(seen: DataFrame, kind: Any) -> tuple[DataFrame, list[str]]:
    """The frame with the columns that identify a row, and where it lies."""
    if kind in ("headers", "value") or (isinstance(kind, str) and kind.startswith("field:")):
        from eosfw_spark.verdict import seen_identities

        return seen_identities(seen, kind), ["identity"]
    columns = [kind] if isinstance(kind, str) else list(kind)
    return seen.select(*columns, *(name for name in PLACE if name in seen.columns and name not in columns)), columns


def _due(marked: DataFrame, columns: list[str], expected: Any, folder: Path) -> DataFrame:
    if is_frame(expected):
        frame: DataFrame = expected.select(*columns)
        return frame
    spark = marked.sparkSession
    if isinstance(expected, Counter):
        from eosfw_spark.verdict import write_expected

        write_expected([list(expected.elements())], folder / "expected.parquet")
        return spark.read.parquet(str(folder / "expected.parquet"))
    rows = [one if isinstance(one, tuple) else (one,) for one in expected]
    return spark.createDataFrame(rows, marked.select(*columns).schema)


def _compared(marked: DataFrame, due: DataFrame, columns: list[str], *, unique: bool) -> Difference:
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    both = marked.select(*columns, F.lit(1).alias("seen_"), F.lit(0).alias("due_")).unionAll(
        due.select(*columns, F.lit(0).alias("seen_"), F.lit(1).alias("due_"))
    )
    groups = both.groupBy(*columns).agg(F.sum("seen_").alias("seen_"), F.sum("due_").alias("due_"))
    if unique and (twice := groups.where("due_ > 1").limit(EXAMPLES).collect()):
        raise ValueError(said_repeated(len(twice), str(tuple(twice[0][name] for name in columns))))
    return _difference(groups.where("seen_ <> due_"), marked, columns)


def _difference(odd: DataFrame, marked: DataFrame, columns: list[str]) -> Difference:
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    def total(what: str) -> Any:
        return F.coalesce(F.sum(F.expr(what)), F.lit(0))

    sums = odd.select(
        total("case when due_ > 0 then greatest(seen_ - due_, 0) end"),
        total("case when due_ = 0 then seen_ end"),
        total("greatest(due_ - seen_, 0)"),
    ).first()
    duplicates, unexpected, missing = sums or (0, 0, 0)
    examples: list[Odd] = []
    if duplicates or unexpected or missing:
        for kind in ("seen_ > due_ and due_ > 0", "seen_ > due_ and due_ = 0", "seen_ < due_"):
            examples += _examples(odd.where(kind).orderBy(*columns).limit(EXAMPLES), marked, columns)
    return Difference(int(duplicates), int(unexpected), int(missing), shown(examples))


def _examples(odd: DataFrame, marked: DataFrame, columns: list[str]) -> list[Odd]:
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    there = all(name in marked.columns for name in PLACE)
    places = F.collect_list(F.struct(*PLACE)) if there else F.array()
    found = (
        odd.join(marked.withColumn("here_", F.lit(1)), [marked[name].eqNullSafe(odd[name]) for name in columns], "left")
        .groupBy(*(odd[name] for name in columns), "seen_", "due_")
        .agg(F.slice(F.sort_array(places), 1, PLACES).alias("places_") if there else F.array().alias("places_"))
        .collect()
    )
    return [Odd(_identity(row, columns), row["seen_"], row["due_"], _places(row["places_"])) for row in found]


def _identity(row: Any, columns: Sequence[str]) -> object:
    values = tuple(row[name] for name in columns)
    one = values[0] if len(values) == 1 else values
    return bytes(one) if isinstance(one, bytearray) else one


def _places(structs: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"{topic}-{partition}@{offset}" for topic, partition, offset in structs if topic is not None)
