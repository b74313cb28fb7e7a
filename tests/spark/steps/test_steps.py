"""The output of a step after success and after failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from tests.schema_registry.http_registry import served_registry

from eosfw.config.parts import PartChoice
from eosfw.errors import ExitCode, StepFailedError
from eosfw.pipeline import load
from eosfw.protocols import Step, StepInput
from eosfw_spark.formats.ddl import parse_ddl
from eosfw_spark.formats.json.format import JsonFormat
from eosfw_spark.formats.typed_columns import decode_column
from eosfw_spark.steps.engine import SparkStepEngine
from eosfw_spark.steps.tables import parsed

FUNCTIONS = """
from pyspark.sql import functions as F


def keyed(left, right):
    print("this must not reach stdout")
    return left.join(right, "value").select(left["value"].alias("both"))


@F.udf("int")
def halved(number):
    import helpers_of_steps
    return helpers_of_steps.half(number)


def halves(numbers):
    return numbers.select(halved(F.col("n")).alias("half"))


def broken(numbers):
    raise KeyError("dep_delay")


def leaving(numbers):
    raise SystemExit("no luck")


def wrong(numbers):
    return [1, 2]
"""


COMMITTED = PartChoice("isolation.reader", "read_committed")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "functions_of_steps.py").write_text(FUNCTIONS)
    (tmp_path / "helpers_of_steps.py").write_text("def half(number):\n    return number // 2\n")
    yield tmp_path
    sys.modules.pop("functions_of_steps", None)


@pytest.fixture
def numbers(history: Any) -> str:
    """A topic with committed JSON of n = 0..9, an aborted one between them."""
    topic: str = history.topic(2)
    history.commit(topic, [json.dumps({"n": n, "text": str(n)}).encode() for n in range(5)])
    history.abort(topic, [b'{"n": 99}'])
    history.commit(topic, [json.dumps({"n": str(n), "text": None}).encode() for n in range(5, 10)], partition=1)
    return topic


def typed(topic: str) -> StepInput:
    return StepInput("numbers", topic, "json", "n INT, text STRING")


def rows(folder: Path) -> list[dict[str, Any]]:
    return parquet.read_table(folder).to_pylist()  # type: ignore[no-any-return]


def test_a_sql_step_writes_what_is_committed_and_replaces_it_by_the_same_rows(
    engine: SparkStepEngine, history: Any, numbers: str, folder: Path
) -> None:
    step = Step("doubles", [typed(numbers)], "out/doubles", sql="SELECT n * 2 AS d, partition FROM numbers WHERE n > 0")
    ranges = history.bounds(numbers)

    counts = [engine.run(step, ranges)]
    history.commit(numbers, [b'{"n": 77}'])
    counts.append(engine.run(step, ranges))

    assert counts == [9, 9]
    assert sorted(row["d"] for row in rows(folder / "out/doubles")) == [2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert {path.name for path in (folder / "out").iterdir()} == {"doubles"}


def test_a_step_reads_with_the_reader_that_was_chosen(
    spark: SparkSession, history: Any, numbers: str, folder: Path
) -> None:
    """The aborted record shows that it is not the usual one."""
    anything = PartChoice("isolation.reader", "read_uncommitted")
    engine = SparkStepEngine.start("confluent", {"bootstrap.servers": history.servers}, str(folder), anything)

    engine.run(Step("all", [typed(numbers)], "out", sql="SELECT n FROM numbers"), history.bounds(numbers))
    engine.close()

    assert 99 in {row["n"] for row in rows(folder / "out")}


def test_a_function_step_gets_tables_by_name_and_may_use_modules_beside_it(
    engine: SparkStepEngine, history: Any, numbers: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Spark's workers, too; what it prints goes to stderr."""
    left, right = history.topic(), history.topic()
    history.commit(left, [b"a", b"b"])
    history.commit(right, [b"b", b"c"])
    inputs = [StepInput("right", right), StepInput("left", left)]

    engine.run(Step("join", inputs, "out", function="functions_of_steps:keyed"), history.bounds(left, right))
    engine.run(Step("halves", [typed(numbers)], "h", function="functions_of_steps:halves"), history.bounds(numbers))

    assert rows(folder / "out") == [{"both": b"b"}]
    assert sorted(row["half"] for row in rows(folder / "h")) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert capsys.readouterr().out == ""


CSV_FLOW = """
[[steps]]
name = "csv"
inputs.lines = { topic = "TOPIC", format = "csv", schema = "id INT, name STRING" }
sql = "SELECT id, name FROM lines"
output = "out"
"""


def csv_step(topic: str, folder: Path) -> Step:
    """As a pipeline file has it."""
    (folder / "flow.toml").write_text(CSV_FLOW.replace("TOPIC", topic))
    (step,) = load(folder / "flow.toml").steps
    return step


CSV_ROWS = {
    b'1,"a, b"': (1, "a, b"),
    b'2,"she said ""no"""': (2, 'she said "no"'),
    b'3,"two\nlines"': (3, "two\nlines"),
    b"4,C:\\new": (4, "C:\\new"),
    b"5, blanks ": (5, " blanks "),
    b'6,""': (6, None),
    b",": (None, None),
}


def test_csv_values_of_a_pipeline_file_become_columns(engine: SparkStepEngine, history: Any, folder: Path) -> None:
    """RFC 4180, as the connector `file` reads it; what is not there is null."""
    topic = history.topic()
    history.commit(topic, list(CSV_ROWS))

    engine.run(csv_step(topic, folder), history.bounds(topic))

    assert {(row["id"], row["name"]) for row in rows(folder / "out")} == set(CSV_ROWS.values())


def test_a_csv_value_that_does_not_fit_the_schema_fails(spark: SparkSession) -> None:
    """A header line, too few or too many columns, a number that is none: never null instead."""
    for row in ("id,name", "1", "1,a,b", "", "4294967296,a"):
        frame = parsed(spark.createDataFrame([("1,a",), (row,)], "value STRING"), "csv", "id INT, name STRING")

        with pytest.raises(Exception, match="MALFORMED_RECORD_IN_PARSING"):
            frame.collect()


JSON_VALUES = {
    "INT": ["7", '" 7 "', "null", "-0"],
    "BIGINT": ["9223372036854775807"],
    "DOUBLE": ["7", "1.5e3", '"2.5"'],
    "STRING": ['"ø"', "true", '{"b": [1, null]}', "[]"],
    "BOOLEAN": ["true", '"false"', '"Y"'],
    "DECIMAL(5,2)": ["1.5", '"2"', "1.005", "-1.005"],
    "DATE": ['"2024-01-31"', '"2024-1-5"', '"2024-02"', '"2024-01-31T12:00:00"'],
    "TIMESTAMP": [
        '"2024-01-31T12:00:00Z"',
        '"2024-01-31 12:00:00.123456"',
        '"2024-1-5"',
        '"2024-01-31T12:00:00+02:00"',
    ],
    "TIMESTAMP_NTZ": ['"2024-01-31T12:00:00"'],
    "ARRAY<INT>": ["[1, null]", "[]"],
    "MAP<STRING, INT>": ['{"a": 1}'],
    "STRUCT<x: DOUBLE>": ['{"x": 1, "y": 2}', "{}"],
}
NO_JSON_VALUES = [
    ("INT", "1.0"),
    ("INT", '"many"'),
    ("TINYINT", "128"),
    ("BOOLEAN", '"maybe"'),
    ("DATE", '"20240131"'),
    ("TIMESTAMP", '"soon"'),
    ("DECIMAL(3,2)", "10"),
    ("ARRAY<INT>", "{}"),
]


def test_json_has_the_values_that_sparks_own_functions_give(spark: SparkSession) -> None:
    """CNV-39: so that `reader = "spark-kafka"`, which is decoded by these, gives the same rows."""
    texts = [(kind, text) for kind, given in JSON_VALUES.items() for text in given]
    ddl = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(texts))
    value = "{" + ", ".join(f'"c{number}": {text}' for number, (_, text) in enumerate(texts)) + "}"
    (by_spark,) = parsed(spark.createDataFrame([(value,)], "value STRING"), "json", ddl).drop("value").collect()
    column, failures = decode_column(pa.array([value.encode()], pa.binary()), JsonFormat(parse_ddl(ddl)).deserializer())
    (ours,) = spark.createDataFrame(pa.table({name: column.field(name) for name in column.type.names})).collect()

    assert not failures
    assert [each for each in zip(texts, ours, by_spark, strict=True) if each[1] != each[2]] == []
    for kind, text in NO_JSON_VALUES:
        row = f'{{"v": {text}}}'
        assert decode_column(pa.array([row.encode()]), JsonFormat(parse_ddl(f"v {kind}")).deserializer())[1]
        with pytest.raises(Exception, match=r"MALFORMED|CAST_INVALID_INPUT|NUMERIC_VALUE_OUT_OF_RANGE"):
            parsed(spark.createDataFrame([(row,)], "value STRING"), "json", f"v {kind}").collect()


def test_a_step_reads_avro_by_a_registry(engine: SparkStepEngine, history: Any, finish: Any, folder: Path) -> None:
    """CNV-39: its fields are columns beside Kafka's, in batches and streams."""
    topic = history.topic()
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    with served_registry() as registry:
        number = registry.add(f"{topic}-value", schema)
        history.commit(topic, [b"\0" + number.to_bytes(4, "big") + bytes([2 * n]) for n in range(3)])
        orders = StepInput("orders", topic, "avro", options={"schema.registry.url": registry.url})
        sql = "SELECT id, offset, length(value) AS size FROM orders WHERE id > 0"

        engine.run(Step("batch", [orders], "out", sql=sql), history.bounds(topic))
        finish(Step("stream", [orders], "stream", sql=sql, trigger="available-now"))

    expected = [{"id": n, "offset": n, "size": 6} for n in (1, 2)]
    assert rows(folder / "out") == rows(folder / "stream") == expected


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            '{"type": "record", "name": "O", "fields": [{"name": "Offset", "type": "int"}]}',
            "has Offset, which cannot be",
        ),
        ('"long"', "is bigint, which cannot be columns beside Kafka's: leave out format, give the option"),
    ],
)
def test_fields_that_cannot_be_columns_are_named(engine: Any, history: Any, schema: str, message: str) -> None:
    """CNV-38."""
    topic = history.topic()

    with pytest.raises(StepFailedError) as failed:
        engine.run(Step("s", [StepInput("t", topic, "avro", schema)], "out", sql="SELECT 1"), history.bounds(topic))
    assert f"the value of input t {message}" in str(failed.value)


FAILING = [
    ({"function": "functions_of_steps:broken"}, "step s failed: KeyError: 'dep_delay'"),
    ({"function": "functions_of_steps:leaving"}, "step s failed: SystemExit: no luck"),
    ({"function": "functions_of_steps:wrong"}, "returned list, not a DataFrame"),
    ({"sql": "SELEC 1"}, "step s failed: Syntax error at or near 'SELEC'"),
    ({"sql": "SELECT nothing FROM numbers"}, "`nothing` cannot be resolved"),
    ({"sql": "SELECT 1 / (n - n) AS x FROM numbers"}, "step s failed: Division by zero"),
    ({"sql": "SELECT n, N FROM numbers"}, "step s failed: The column `n` already exists"),
]


def test_a_failing_step_keeps_its_earlier_output_and_names_the_reason(
    engine: SparkStepEngine, history: Any, numbers: str, folder: Path
) -> None:
    unfit, ranges = history.topic(), history.bounds(numbers)
    history.commit(unfit, [b'{"n": 1}', b'{"n": "many"}'])
    engine.run(Step("s", [typed(numbers)], "out", sql="SELECT n FROM numbers"), ranges)
    failing = [(Step("s", [typed(numbers)], "out", **body), message, ranges) for body, message in FAILING]
    reason = f"the value of {unfit}-0 at offset 1 does not decode: field n: a JSON string where INT is wanted"
    failing.append((Step("s", [typed(unfit)], "out", "SELECT n FROM numbers"), reason, history.bounds(unfit)))

    for step, message, among in failing:
        with pytest.raises(StepFailedError) as raised:
            engine.run(step, among)
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)
        assert "many" not in str(raised.value)
        assert not (folder / ".out.writing").exists()

    assert sorted(row["n"] for row in rows(folder / "out")) == list(range(10))


def test_a_step_without_rows_leaves_an_empty_table(engine: SparkStepEngine, history: Any, folder: Path) -> None:
    topic = history.topic()

    written = engine.run(Step("s", [typed(topic)], "out", sql="SELECT n FROM numbers"), history.bounds(topic))

    assert written == 0
    assert parquet.read_table(folder / "out").schema.names == ["n"]


def test_a_cluster_that_went_away_fails_a_step_with_its_address(spark: SparkSession, folder: Path) -> None:
    from eosfw.ids import TopicPartition
    from eosfw.records import OffsetRange

    properties = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "2000"}
    engine = SparkStepEngine.start("confluent", properties, str(folder), COMMITTED)

    with pytest.raises(StepFailedError, match=r"127\.0\.0\.1:1") as raised:
        engine.run(
            Step("s", [typed("t")], "out", sql="SELECT n FROM numbers"), {TopicPartition("t", 0): OffsetRange(0, 5)}
        )

    assert raised.value.exit_code is ExitCode.UNAVAILABLE
