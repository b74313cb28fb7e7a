"""The format `eosfw` of Spark (Spark's `KafkaSourceProvider`)."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from eosfw_spark.source.batch_reader import EosfwReader
from eosfw_spark.source.options import parse


class EosfwDataSource(DataSource):
    """Topics as a DataFrame with the columns of Spark's Kafka source; `read_committed` by default."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "eosfw"

    def schema(self) -> StructType:
        """The columns; wrong options raise here, before a job starts."""
        from eosfw_spark.source.columns import spark_schema

        return spark_schema(headers=parse(self.options).headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Create the reader, which plans on the driver and reads in the workers."""
        return EosfwReader(parse(self.options))
