"""Assertions in Spark give the same verdicts as without it."""

from __future__ import annotations

import pytest
from tests.pytest_eos.broken import IdleFencer
from tests.pytest_eos.counter import CounterConnector

from pytest_eos import assert_exactly_once, assert_no_duplicates
from pytest_eos.runs.pipeline import Output

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def frame(eos_spark):
    rows = [(1, "a"), (2, "b"), (2, "b"), (4, "d")]
    return eos_spark.createDataFrame(rows, "id int, name string")


def complaint(seen, expected, *, key=None, judge=assert_exactly_once):
    """What the assertion says."""
    with pytest.raises(AssertionError) as found:
        judge(seen, expected, key=key)
    return str(found.value)


# --- a run


@pytest.mark.eos_zombie(at="commit")
def test_a_run_with_a_zombie_is_exactly_once_in_spark(eos, eos_spark):
    """The author's own test: every record once, by identity in its headers, then by value."""
    run = eos.run(CounterConnector, {"streams": 2})

    eos.assert_exactly_once(run.dataframe(eos_spark), expected=run.source_records())
    assert_no_duplicates(run.dataframe(eos_spark), key="value")


@pytest.mark.eos_zombie(at="send-offsets")
def test_duplicates_are_explained_from_spark(eos, eos_spark):
    """Spark returns the positions of the records that the harness wrote."""
    eos.use(fencer=IdleFencer)
    run = eos.run(CounterConnector, {"streams": 2})

    message = complaint(run.dataframe(eos_spark), run.source_records(), judge=eos.assert_exactly_once)

    assert "4 duplicates" in message
    assert 'counter {"stream":"s1"} {"next":5}: 2 times' in message
    assert "by task counter-1 of generation 0, transaction 2" in message
    assert "epoch" in message


@pytest.mark.eos_zombie(at="commit")
def test_aborted_records_that_spark_shows_are_explained(eos, eos_spark):
    """A part that is broken on purpose: a session that reads uncommitted records too."""
    run = eos.run(CounterConnector, {"streams": 2})
    uncommitted = (
        eos_spark.read.format("eosfw")
        .options(backend="memory", subscribe=run.topics[0], includeHeaders="true")
        .option("kafka.bootstrap.servers", eos.cluster.bootstrap_servers)
        .option("kafka.isolation.level", "read_uncommitted")
        .load()
    )

    message = complaint(uncommitted, run.source_records(), judge=eos.assert_exactly_once)

    assert "0 missing" in message
    assert "aborted records became visible:" in message
    assert "by task counter-1 of generation 0, transaction 2" in message.partition("became visible")[2]


def test_a_users_own_result_is_judged_by_its_remaining_columns(eos, eos_spark):
    """No offsets, no headers: values that are bytes or text, and columns of the user's own."""
    run = eos.run(CounterConnector, {"streams": 1})
    frame = run.dataframe(eos_spark)
    texts = frame.selectExpr("cast(value as string) as value")
    words = frame.selectExpr("split(cast(value as string), ':')[1] as number", "partition")

    eos.assert_exactly_once(texts, run.source_records())
    eos.assert_exactly_once(words, [str(number) for number in range(24)], key="number")
    message = complaint(words.union(words), [(str(number), 0) for number in range(25)], key=["number", "partition"])

    assert "24 duplicates, 1 missing, 0 unexpected" in message
    assert "duplicates (the first 6):" in message
    assert "('0', 0): 2 times" in message
    assert "('24', 0)" in message.partition("missing:")[2]


def test_a_field_of_json_values_is_expected_as_a_plain_value(eos_spark):
    """`field:NAME`: numbers and texts as Python writes them; records without the field are unexpected."""
    frame = eos_spark.createDataFrame([('{"id":"a"}',), ('{"id":"a"}',), ('{"id":7}',), ("no json",)], "value string")

    message = complaint(frame, ["a", 7, "ü"], key="field:id")

    assert "1 duplicate, 1 missing, 1 unexpected" in message
    assert '"a": 2 times' in message


# --- any DataFrame


def test_columns_of_any_frame_can_be_the_key(eos_spark, frame):
    """`key`: columns; expected as values or as another frame."""
    assert_exactly_once(frame.where("id = 1"), [1], key="id")

    message = complaint(frame, eos_spark.createDataFrame([(1,), (2,), (3,)], "id int"), key="id")

    assert "1 duplicate, 1 missing, 1 unexpected" in message
    assert "    2: 2 times" in message


def test_an_expected_frame_without_a_key_is_compared_by_all_columns(eos_spark, frame):
    """Expected may be a DataFrame itself."""
    assert_exactly_once(frame.dropDuplicates(), frame.dropDuplicates())

    message = complaint(frame, eos_spark.createDataFrame([("b", 2), ("x", 1)], "name string, id int"))

    assert "1 duplicate, 1 missing, 2 unexpected" in message


def test_a_frame_of_records_is_expected_by_value(eos, eos_spark):
    """Two topics with the same values agree, wherever their records lie."""
    run = eos.run(CounterConnector, {"streams": 1})
    frame = run.dataframe(eos_spark)

    eos.assert_exactly_once(frame, frame.selectExpr("cast(value as string) as value"))
    with pytest.raises(AssertionError, match="1 missing"):
        eos.assert_exactly_once(frame.where("offset > 0"), frame)


def test_duplicates_are_reported_with_the_remaining_position_columns(eos_spark):
    """All of topic, partition, offset in one word; else those that are left."""
    rows = eos_spark.createDataFrame(
        [(1, "t", 0, 5), (1, "t", 0, 9)], "id int, topic string, partition int, offset long"
    )

    with pytest.raises(AssertionError, match=r"(?s)1: 2 times.*t-0@5.*t-0@9"):
        assert_no_duplicates(rows, key="id")
    with pytest.raises(AssertionError, match=r"(?s)1: 2 times.*partition 0, offset 5"):
        assert_no_duplicates(rows.drop("topic"), key="id")


def test_null_keys_count_as_one_key_and_are_reported(eos_spark):
    """Null equals null here; the explanation says that such rows cannot be told apart."""
    frame = eos_spark.createDataFrame([(None, 1), (None, 2), (3, 3)], "id int, offset long")

    message = complaint(frame, [3, None], key="id")

    assert "1 duplicate, 0 missing" in message
    assert "(null): 2 times" in message
    assert "offset 1" in message
    assert "rows whose key is null cannot be told apart" in message


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("nam", "key 'nam': the DataFrame has no column 'nam'; did you mean 'name'? There are: id, name"),
        (["id", "ids"], "has no column 'ids'; did you mean 'id'?"),
        ("headers", "key 'headers': the DataFrame has no column 'headers'. There are: id, name"),
        ("field:id", "key 'field:id': the DataFrame has no column 'value'"),
        (None, "key 'value': the DataFrame has no column 'value'"),
    ],
)
def test_a_key_that_names_a_missing_column_is_refused_with_the_nearest(frame, key, message):
    """Bad input: said before Spark says it in its own way."""
    with pytest.raises(ValueError, match="no column") as found:
        assert_no_duplicates(frame, key=key)

    assert message in str(found.value)


def test_an_expected_frame_without_the_key_is_refused(frame):
    """Bad input: the message tells which of both frames it is."""
    with pytest.raises(ValueError, match="key 'id': the expected DataFrame has no column 'id'"):
        assert_exactly_once(frame, frame.select("name"), key="id")


def test_expected_values_of_another_type_are_refused(eos, frame):
    """Bad input: texts where the column holds numbers; source records where there is nothing to know them by."""
    run = eos.run(CounterConnector, {"streams": 1})

    with pytest.raises(TypeError, match="key 'id': expected values do not fit its columns, of type int"):
        assert_exactly_once(frame, ["1"], key="id")
    with pytest.raises(TypeError, match="key 'id': SourceRecords have no such column"):
        assert_exactly_once(frame, run.source_records(), key="id")
    with pytest.raises(TypeError, match="a DataFrame can be expected of a DataFrame alone"):
        eos.assert_exactly_once(run, frame)


def test_only_example_rows_are_fetched_to_the_driver(eos_spark, monkeypatch):
    """300,000 rows, most of them wrong: Spark counts; six identities of a kind with four places each are fetched."""
    many = 300_000
    seen = eos_spark.range(many).selectExpr(
        "cast(id % 100000 as string) as value", "'t' as topic", "0 as partition", "id as offset"
    )
    expected = eos_spark.range(50_000, 150_000).selectExpr("cast(id as string) as value")
    fetched = []
    collect = type(seen).collect
    monkeypatch.setattr(type(seen), "collect", lambda self: fetched.append(collect(self)) or fetched[-1])

    message = complaint(seen, expected)

    assert "100,000 duplicates, 50,000 missing, 150,000 unexpected" in message
    assert "50000: 3 times" in message
    assert "t-0@50000" in message
    assert sum(map(len, fetched)) <= 18 + 12 * 4
    assert len(message.splitlines()) < 80


# --- folders and streaming queries


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_folder_of_files_is_judged(frame, tmp_path, kind):
    """What `df.write` left; a duplicate comes with its file."""
    folder = tmp_path / "rows"
    frame.dropDuplicates().write.format(kind).option("header", "true").save(str(folder))
    assert_exactly_once(folder, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 4, "name": "d"}])
    frame.where("id = 1").write.mode("append").format(kind).option("header", "true").save(str(folder))

    message = complaint(str(folder), [1, 2, 4], key="id")

    assert f"folder {folder} is not exactly once: 1 duplicate, 0 missing" in message
    assert "file part-" in message


@pytest.mark.parametrize("options", [{}, {"header": "true"}, {"header": "true", "sep": ";"}], ids=str)
def test_the_csv_of_a_step_is_read_as_it_was_written(frame, tmp_path, options):
    """Without names in the first line, as Spark writes by default, that line of each file is a row, too."""
    folder = tmp_path / "rows"
    frame.dropDuplicates().write.options(**options).csv(str(folder))
    column = "id" if "header" in options else "_c0"

    assert_exactly_once(Output("copy", folder, 3, options), [1, 2, 4], key=column)


def test_a_streaming_query_is_judged_by_its_sink(eos_spark, frame, tmp_path):
    """A table in memory, a folder whose rows know their batch; a sink that keeps nothing is refused."""
    frame.write.parquet(str(tmp_path / "from"))
    rows = eos_spark.readStream.schema(frame.schema).parquet(str(tmp_path / "from"))
    to_folder = rows.writeStream.format("parquet").option("path", str(tmp_path / "to"))
    to_nowhere = rows.writeStream.format("noop")
    queries = [rows.writeStream.format("memory").queryName("kept"), to_folder, to_nowhere]
    started = [
        one.option("checkpointLocation", str(tmp_path / f"checkpoint{number}")).trigger(availableNow=True).start()
        for number, one in enumerate(queries)
    ]
    in_memory, in_folder, nowhere = [query for query in started if query.awaitTermination(120)]

    assert "1 duplicate" in complaint(in_memory, [1, 2, 4], key="id")
    message = complaint(in_folder, [1, 2, 4], key="id")
    assert "2: 2 times" in message
    assert "batch 0, file part-" in message
    with pytest.raises(TypeError, match="which keeps no rows that can be read again: judge the folder, table or topic"):
        assert_exactly_once(nowhere, [1], key="id")


def test_a_query_is_judged_when_it_has_no_more_to_read(eos_spark, frame, tmp_path):
    """One that runs may not have finished a batch yet; one that failed is not judged."""
    frame.dropDuplicates().write.parquet(str(tmp_path / "from"))
    rows = eos_spark.readStream.schema(frame.schema).parquet(str(tmp_path / "from"))
    query = rows.writeStream.format("memory").queryName("running").start()
    try:
        assert_exactly_once(query, [1, 2, 4], key="id")
    finally:
        query.stop()

    fails = rows.selectExpr("raise_error('no luck') as id").writeStream.format("memory").queryName("failing").start()
    message = complaint(fails, [1], key="id")
    assert "the query failing failed, so what it wrote is not judged: " in message
    assert "no luck" in message
    assert "\n" not in message
