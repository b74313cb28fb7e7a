"""Folders, Delta tables and streaming queries are judged, other things are refused in one sentence."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from eosfw.records import ProducerRecord
from pytest_eos import assert_exactly_once, assert_no_duplicates
from pytest_eos.runs.queries.targets import batches_of_files, format_of, is_folder
from pytest_eos.runs.record import Record
from pytest_eos.verdict.record_order import order_message, out_of_order


def folder(tmp_path, *names):
    for name in names:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["part-0.snappy.parquet", "_SUCCESS"], "parquet"),
        (["day=1/part-0.csv.gz", ".part-0.csv.gz.crc"], "csv"),
        (["part-0.json", "_spark_metadata/0"], "json"),
        (["_delta_log/0.json", "part-0.parquet"], "delta"),
    ],
)
def test_the_format_of_a_folder_is_known_by_its_files(tmp_path, names, kind):
    assert format_of(folder(tmp_path, *names)) == kind


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["part-0.orc"], TypeError, "holds files ending in 'orc': a folder of parquet, CSV, JSON or Delta files"),
        (["a.csv", "b.json"], TypeError, "holds files ending in 'csv', 'json'"),
        (["_SUCCESS"], AssertionError, "holds no files of rows, so nothing was judged"),
    ],
)
def test_a_folder_of_other_files_is_refused(tmp_path, names, error, message):
    with pytest.raises(error, match=message):
        assert_exactly_once(folder(tmp_path, *names), [1], key="id")


def test_a_folder_that_does_not_exist_is_not_taken_for_empty(tmp_path):
    with pytest.raises(AssertionError, match="there does not exist, so nothing in it was judged"):
        assert_no_duplicates(tmp_path / "there")

    assert_no_duplicates(tmp_path / "there", allow_empty=True)


def test_a_text_is_a_folder_if_it_is_written_as_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders").mkdir()

    assert is_folder("output/orders")
    assert is_folder("orders")
    assert not is_folder("payments")


@pytest.mark.parametrize("target", [7, None, {"a": 1}, object()])
def test_anything_else_is_refused_in_one_sentence(target):
    with pytest.raises(TypeError, match=r"a run, a topic .* a streaming query, .* can be judged, not a") as found:
        assert_exactly_once(target, [1])

    assert "\n" not in str(found.value)


def test_a_file_is_known_by_the_batch_that_added_it(tmp_path):
    """Spark's log of a sink: one entry for each finished batch."""
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for number, name in enumerate(["a b.parquet", "c.parquet"]):
        action = {"path": f"file:///x/{name.replace(' ', '%20')}", "action": "add"}
        (log / str(number)).write_text(f"v1\n{json.dumps(action)}")
    (log / ".1.crc").write_bytes(b"\x00")

    assert batches_of_files(tmp_path) == {"a b.parquet": 0, "c.parquet": 1}


# --- order


def records(topic, *values, partition=0):
    return [Record(topic, partition, offset, None, value) for offset, value in enumerate(values)]


def test_records_out_of_their_sources_order_are_found():
    source = records("from", b"a", b"b") + records("from", b"x", b"y", partition=1)

    assert out_of_order(records("to", b"x", b"a", b"y", b"b"), source, "value", "") == []
    wrong = out_of_order(records("to", b"x", b"b", b"a", b"y"), source, "value", "")

    assert [one.place for one in wrong] == ["to-0@2"]
    assert "a: at to-0@2, behind a later one at to-0@1" in order_message("topic to", wrong)


def test_each_partition_of_a_topic_has_an_order_of_its_own():
    source = records("from", b"a", b"b")

    assert out_of_order([*records("to", b"b"), *records("to", b"a", partition=1)], source, "value", "") == []


def test_order_of_rows_without_one_is_refused():
    with pytest.raises(TypeError, match="have no order: judge `ordered` of a run or a topic"):
        assert_exactly_once([b"a"], [b"a"], ordered=True)


def test_a_topic_is_judged_against_the_records_of_another_in_their_order(eos):
    """What a query copies: missing ones are told with their place in the source."""
    with closing(eos.backend.producer("writer")) as producer:
        producer.init_transactions(30)
        producer.begin_transaction()
        for topic, values in (("from", "abc"), ("to", "cb")):
            for value in values:
                producer.send(ProducerRecord(topic, value.encode(), partition=0))
        producer.commit_transaction(30)

    with pytest.raises(AssertionError) as found:
        eos.assert_exactly_once("to", eos.topic("from").records())
    assert "a: in the source at from-0@0" in str(found.value)
    with pytest.raises(AssertionError, match="topic to is not in the order of its source partitions"):
        eos.assert_exactly_once("to", list(eos.topic("from").records())[1:], ordered=True)
