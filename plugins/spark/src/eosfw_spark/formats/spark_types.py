"""Spark's types of Arrow's, as a typed column has them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
TIMESTAMP_NTZ: Final = pa.timestamp("us")
INTERVAL: Final = pa.duration("us")
_PLAIN: Final = {
    pa.bool_(): BooleanType(),
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
    pa.date32(): DateType(),
    TIMESTAMP: TimestampType(),
    TIMESTAMP_NTZ: TimestampNTZType(),
    INTERVAL: DayTimeIntervalType(),
}


def list_of(element: pa.DataType) -> pa.DataType:
    """The Arrow type of Spark's `ARRAY`, whose elements may be null."""
    return pa.list_(pa.field("element", element))


def spark_type(arrow: pa.DataType) -> DataType:
    """The type of Spark for one of the Arrow types that formats have."""
    if pa.types.is_struct(arrow):
        return StructType([StructField(each.name, spark_type(each.type)) for each in arrow])
    if pa.types.is_list(arrow):
        return ArrayType(spark_type(arrow.value_type))
    if pa.types.is_map(arrow):
        return MapType(spark_type(arrow.key_type), spark_type(arrow.item_type))
    if pa.types.is_decimal(arrow):
        return DecimalType(arrow.precision, arrow.scale)
    return _PLAIN[arrow]


def arrow_type(spark: DataType) -> pa.DataType:
    """The Arrow type of one of Spark's; ValueError for one that formats do not have."""
    if isinstance(spark, StructType):
        return pa.struct([pa.field(each.name, arrow_type(each.dataType)) for each in spark])
    if isinstance(spark, ArrayType):
        return list_of(arrow_type(spark.elementType))
    if isinstance(spark, MapType):
        return pa.map_(arrow_type(spark.keyType), arrow_type(spark.valueType))
    if isinstance(spark, DecimalType):
        return pa.decimal128(spark.precision, spark.scale)
    for arrow, plain in _PLAIN.items():
        if isinstance(spark, type(plain)) and arrow != INTERVAL:
            return arrow
    raise ValueError(f"has the type {spark.simpleString()}, which no format has")
