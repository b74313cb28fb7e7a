"""Questions that are easier to ask in Python than in SQL."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def late_destinations(flights: DataFrame) -> DataFrame:
    """The ten destinations whose flights arrive latest."""
    delay = f.col("arr_delay").try_cast("double")  # NA where it is not known
    return (
        flights.where(delay.isNotNull())
        .groupBy("dest")
        .agg(f.count("*").alias("flights"), f.round(f.avg(delay), 1).alias("mean_delay"))
        .where(f.col("flights") > 100)
        .orderBy(f.col("mean_delay").desc())
        .limit(10)
    )
