"""What becomes of records that do not decode."""

from __future__ import annotations

import pyarrow as pa
import pytest

from eosfw.errors import DamagedDataError
from eosfw.records import LogBatch
from eosfw_spark.formats.ddl import parse_ddl
from eosfw_spark.formats.json.format import JsonFormat
from eosfw_spark.formats.typed_columns import ParseMode, TypedColumns
from eosfw_spark.source.columns import arrow_batches

VALUES = [b'{"id": 1}', b"secret", None, b'{"id": "x"}', b'{"id": 5}']


def read(
    mode: ParseMode, keys: list[bytes | None] | None = None, values: list[bytes | None] = VALUES
) -> pa.RecordBatch:
    formats = {"value": JsonFormat(parse_ddl("id INT"))}
    if keys is not None:
        formats["key"] = JsonFormat(parse_ddl("INT"))
    given = keys if keys is not None else [None] * len(values)
    log = LogBatch("orders", 3, range(10, 10 + len(values)), given, values, [0] * len(values))
    (batch,) = arrow_batches([log], headers=False, typed=TypedColumns(formats, mode))
    return batch


def test_failfast_names_topic_partition_and_offset_never_the_bytes() -> None:
    """CNV-36."""
    with pytest.raises(DamagedDataError) as failed:
        read(ParseMode.FAILFAST)

    assert str(failed.value) == (
        "the value of orders-3 at offset 11 does not decode: it is no JSON at character 0; to read on, give mode "
        "PERMISSIVE, which keeps its bytes in a column, or DROPMALFORMED, which leaves the record out"
    )
    with pytest.raises(DamagedDataError, match="the key of orders-3 at offset 10 does not decode: a JSON string where"):
        read(ParseMode.FAILFAST, [b'"k"'], [b"{}"])


def test_permissive_keeps_the_bytes_beside_null() -> None:
    """CNV-36."""
    batch = read(ParseMode.PERMISSIVE, [b"1", b"2", b"k", None, b"5"])

    assert batch.column("value").to_pylist() == [{"id": 1}, None, None, None, {"id": 5}]
    assert batch.column("_corrupt_record").to_pylist() == [None, b"secret", None, b'{"id": "x"}', None]
    assert batch.column("key").to_pylist() == [1, 2, None, None, 5]
    assert batch.column("_corrupt_record_key").to_pylist() == [None, None, b"k", None, None]
    assert read(ParseMode.PERMISSIVE, values=[b"{}"]).column("_corrupt_record").to_pylist() == [None]


def test_the_bytes_may_stay_beside_the_typed_column() -> None:
    """CNV-30."""
    log = LogBatch("orders", 0, range(1), [b"k"], [b'{"id": 1}'], [0])
    typed = TypedColumns({"value": JsonFormat(parse_ddl("id INT"))}, beside={"value": "order"})
    (batch,) = arrow_batches([log], headers=True, typed=typed)

    assert batch.column("value").to_pylist() == [b'{"id": 1}']
    assert batch.column("order").to_pylist() == [{"id": 1}]
    assert batch.schema.names[-2:] == ["headers", "order"]


def test_dropmalformed_leaves_such_records_out() -> None:
    """CNV-36: a tombstone is none of them."""
    batch = read(ParseMode.DROPMALFORMED, [b"1", b"2", None, None, b"x"])

    assert batch.column("offset").to_pylist() == [10, 12]
    assert batch.column("value").to_pylist() == [{"id": 1}, None]
    assert batch.schema.names == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
