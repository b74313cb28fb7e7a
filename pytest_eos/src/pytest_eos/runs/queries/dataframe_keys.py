"""The columns that identify the rows of a DataFrame."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eosfw.records import SourceRecord
from pytest_eos.environment.config.markers import suggestion

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POSITION = ("topic", "partition", "offset")
"""The columns with the place of a row in Kafka."""
PLACE = (*POSITION, "batch", "file")
"""The columns that tell where a row is: in Kafka, or in a folder; a DataFrame may lack some of them."""


def is_frame(thing: Any) -> bool:
    """Whether something is a DataFrame, without loading Spark to find out."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(thing, module.DataFrame)


def is_kind(key: Any, frame: Any = None) -> bool:
    """Whether a key names a part of Kafka's records, not a column; a `value` of another type than bytes is a column."""
    if key == "value" and is_frame(frame) and "value" in frame.columns:
        return frame.schema["value"].dataType.typeName() in ("binary", "string")
    return key in ("headers", "value") or (isinstance(key, str) and key.startswith("field:"))


def default_key(seen: Any, expected: Any) -> Any:
    """The key that identifies records if a test gives none."""
    if is_frame(expected):
        return "value" if "value" in expected.columns else list(expected.columns)
    if not expected or not all(isinstance(one, SourceRecord) for one in expected):
        return "value"
    return "value" if is_frame(seen) and "headers" not in seen.columns else "headers"


def with_key_columns(frame: DataFrame, key: Any, whose: str = "the DataFrame") -> tuple[DataFrame, list[str]]:
    """The columns that identify a row, renamed to `key_N_`, and its place; ValueError for columns that do not exist."""
    if is_kind(key, frame):
        from eosfw_spark.identity_counts import seen_identities

        _require(frame, ["headers" if key == "headers" else "value"], key, whose)
        from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

        # A record without an identity gets the empty identity, which is never expected.
        known = seen_identities(frame, key).withColumn("identity", F.coalesce("identity", F.lit(b"")))
        return known.withColumnRenamed("identity", "key_0_"), ["key_0_"]
    wanted = [key] if isinstance(key, str) else list(key)
    _require(frame, wanted, key, whose)
    names = [f"key_{number}_" for number in range(len(wanted))]
    keys = [_column(name).alias(column) for name, column in zip(wanted, names, strict=True)]
    return frame.select(*keys, *(name for name in PLACE if name in frame.columns)), names


def _require(frame: DataFrame, wanted: Sequence[str], key: Any, whose: str) -> None:
    if not wanted:
        raise ValueError("key names no column at all")
    for name in wanted:
        if name not in frame.columns:
            raise ValueError(f"key {key!r}: {whose} has no column {name!r}{suggestion(str(name), frame.columns)}")


def _column(name: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    return F.col("`" + name.replace("`", "``") + "`")
