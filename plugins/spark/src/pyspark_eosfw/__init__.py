"""Let Spark find `format("eosfw")` by itself: it looks for `DefaultSource` in packages named `pyspark_*`."""

from eosfw_spark.data_source import EosfwDataSource as DefaultSource

__all__ = ["DefaultSource"]
