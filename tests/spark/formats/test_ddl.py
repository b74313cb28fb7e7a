"""How a schema in Spark's DDL becomes a type, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from eosfw_spark.formats.ddl import parse_ddl
from eosfw_spark.formats.spark_types import TIMESTAMP, arrow_type, spark_type

STRUCT = (
    "id BIGINT NOT NULL COMMENT 'of the shop, mostly', `a b` struct<x: array<int>, `y``z`: map<string, decimal(9,2)>>"
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("id LONG, ok boolean", pa.struct([("id", pa.int64()), ("ok", pa.bool_())])),
        ("price DECIMAL, at timestamp", pa.struct([("price", pa.decimal128(10, 0)), ("at", TIMESTAMP)])),
        ("name VARCHAR(10)", pa.struct([("name", pa.string())])),
        ("BIGINT", pa.int64()),
        ("array<string>", pa.list_(pa.field("element", pa.string()))),
        ("decimal(4)", pa.decimal128(4, 0)),
        ("date DATE", pa.struct([("date", pa.date32())])),
        (
            STRUCT,
            pa.struct(
                [
                    ("id", pa.int64()),
                    (
                        "a b",
                        pa.struct(
                            [
                                ("x", pa.list_(pa.field("element", pa.int32()))),
                                ("y`z", pa.map_(pa.string(), pa.decimal128(9, 2))),
                            ]
                        ),
                    ),
                ]
            ),
        ),
    ],
)
def test_a_schema_has_the_columns_that_spark_reads_in_it(text: str, wanted: pa.DataType) -> None:
    """CNV-30: and Spark's own types lead back to the same."""
    found = parse_ddl(text)

    assert found == wanted
    assert arrow_type(spark_type(found)) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a column's name is missing"),
        ("id", "a column without a type"),
        ("id BIGNIT", "the type BIGNIT, which is not among boolean"),
        ("id INT, id INT", "has the column id twice"),
        ("id INT name STRING", "is no Spark DDL at 'name'"),
        ("a array<int", "is no Spark DDL at its end"),
        ("a decimal(40, 2)", "a precision is 1 to 38"),
        ("a decimal(x)", "is no Spark DDL at 'x'"),
        ("a INT; b INT", "is no Spark DDL at '; b INT'"),
        ("v VARIANT", "the type VARIANT, which is not among"),
        ("a map<int>", "is no Spark DDL at '>'"),
    ],
)
def test_what_is_no_schema_is_named_with_its_place(text: str, message: str) -> None:
    """CNV-38."""
    with pytest.raises(ValueError, match=r"^(is|has) ") as refused:
        parse_ddl(text)

    assert message in str(refused.value)
