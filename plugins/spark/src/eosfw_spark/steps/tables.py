"""The DataFrames of topics, within given offset ranges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

from eosfw.config.parts import PartChoice
from eosfw.errors import StepFailedError
from eosfw.ids import TopicPartition
from eosfw.protocols import StepInput
from eosfw.records import OffsetRange
from eosfw_spark.option_parser import KAFKA
from eosfw_spark.source.option_values import offsets_json
from eosfw_spark.source.options import READER
from eosfw_spark.steps import spark_kafka
from eosfw_spark.steps.step_options import (
    HEADER,
    READ_BY_SPARK,
    TYPED,
    decoded_by_source,
    reader_options,
    row_options,
    typed_options,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

STRICT: Final = {"mode": "FAILFAST"}
CSV: Final = {"escape": '"'}
"""A quote within quotes is doubled, as in RFC 4180 and the connector `file`; Spark's default is a backslash."""
WORTH_SPLITTING: Final = 50_000
"""The number of offsets below which a second Spark task costs more than it saves."""
Reader = TypeVar("Reader", "DataFrameReader", "DataStreamReader")


@dataclass(frozen=True, slots=True)
class Tables:
    """Reads topics of one cluster through one backend."""

    spark: SparkSession
    backend: str
    properties: Mapping[str, str]
    reader: PartChoice

    def of_topic(
        self,
        topic: str,
        ranges: Mapping[TopicPartition, OffsetRange],
        *,
        headers: bool = False,
        given: StepInput | None = None,
    ) -> DataFrame:
        """The records of a topic within exactly these ranges, with Kafka's columns."""
        wanted = {partition: offsets for partition, offsets in ranges.items() if partition.topic == topic}
        if not wanted:
            raise StepFailedError(f"no topic {topic} among what is to be read")
        size = sum(offsets.end - offsets.start for offsets in wanted.values())
        reader = self._connected(self.spark.read, given)
        return (
            reader.option("assign", json.dumps({topic: sorted(each.partition for each in wanted)}))
            .option("startingOffsets", offsets_json({each: offsets.start for each, offsets in wanted.items()}))
            .option("endingOffsets", offsets_json({each: offsets.end for each, offsets in wanted.items()}))
            .option("minPartitions", self.spark.sparkContext.defaultParallelism if size >= WORTH_SPLITTING else 1)
            .option("includeHeaders", headers)
            .load()
        )

    def of_stream(self, given: StepInput) -> DataFrame:
        """An input of a streaming step, from the beginning of its topic."""
        # What the file says comes first: which topic is read, and what of it is committed, is not for options.
        reader = self._connected(self.spark.readStream.option("startingOffsets", "earliest"), given)
        reader = reader.option("subscribe", given.topic)
        return _with_schema(reader.option("includeHeaders", "true").load(), given)

    def _connected(self, reader: Reader, given: StepInput | None) -> Reader:
        """The reader with the options of the input and of the cluster, which have the last word."""
        reader = reader.options(**({} if given is None else reader_options(given)))
        if given is not None and decoded_by_source(given):
            reader = reader.options(**typed_options(given))
        if given is not None and given.reader == READ_BY_SPARK:
            properties = spark_kafka.java_properties(self.properties)
            return _of_cluster(reader.format(spark_kafka.FORMAT), properties)
        reader = _of_cluster(reader.format("eosfw"), self.properties)
        if self.reader.name is not None:
            reader = reader.option(READER, self.reader.name)
        for name, value in self.reader.properties.items():
            reader = reader.option(f"{READER}.{name}", value)
        return reader.option("backend", self.backend)

    def of_input(self, given: StepInput, ranges: Mapping[TopicPartition, OffsetRange]) -> DataFrame:
        """An input of a step: Kafka's columns with headers, and the columns of the value if it has a schema."""
        return _with_schema(self.of_topic(given.topic, ranges, headers=True, given=given), given)


def _of_cluster(reader: Reader, properties: Mapping[str, str]) -> Reader:
    return reader.options(**{KAFKA + name: value for name, value in properties.items()})


def _with_schema(frame: DataFrame, given: StepInput) -> DataFrame:
    if decoded_by_source(given):
        return _with_fields(frame, given)
    if given.format is None or given.schema is None:
        return frame
    return parsed(frame, given.format, given.schema, row_options(given))


def _with_fields(frame: DataFrame, given: StepInput) -> DataFrame:
    """Make the fields of the decoded value columns."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
    from pyspark.sql.types import StructType

    plain = [each for each in frame.columns if each != TYPED]
    value = frame.schema[TYPED].dataType
    names = {each.lower() for each in plain}
    if not isinstance(value, StructType) or (both := [each for each in value.names if each.lower() in names]):
        what = f"is {value.simpleString()}" if not isinstance(value, StructType) else f"has {', '.join(both)}"
        raise StepFailedError(
            f"the value of input {given.table} {what}, which cannot be columns beside Kafka's: leave out format, give "
            f'the option "value.format" = "{given.format}", and take them from the column value'
        )
    return frame.select(*plain, *(F.col(TYPED)[each].alias(each) for each in value.names))


def parsed(frame: DataFrame, written_as: str, ddl: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """Add the columns of the value; a value that does not fit the schema fails the step, it does not become null."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
    from pyspark.sql.types import StructType

    schema = cast("StructType", StructType.fromDDL(ddl))
    text = F.col("value").cast("string")
    if written_as == "csv":
        given = {**CSV, **(options or {}), **STRICT}
        if given.pop(HEADER, "false").lower() == "true":
            frame = frame.where(_no_header(text, schema, given))
        found = F.from_csv(text, ddl, given)
        added = [F.col("__value")[field.name].alias(field.name) for field in schema]
    else:
        found = F.from_json(text, _as_texts(schema), STRICT)
        value = F.col("__value")
        added = [value[field.name].cast(field.dataType).alias(field.name) for field in schema]
    return frame.withColumn("__value", found).select(*frame.columns, *added)


def _no_header(text: Column, schema: StructType, options: Mapping[str, str]) -> Column:
    """Whether a value is a row, not the line with the columns' names."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    plain = F.replace(text, F.lit(options.get("quote", '"')), F.lit(""))
    line = options.get("sep", options.get("delimiter", ",")).join(schema.names)
    return text.isNull() | (plain != F.lit(line))


def _as_texts(schema: StructType) -> StructType:
    """The schema with text for plain types: both `"7"` and `7` are then cast to a number, strictly."""
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructField, StructType, VariantType

    kept = (ArrayType, MapType, StructType, BinaryType, VariantType)
    return StructType(
        [StructField(f.name, f.dataType if isinstance(f.dataType, kept) else StringType()) for f in schema]
    )
