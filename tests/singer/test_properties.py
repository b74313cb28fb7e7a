"""What a user may ask of a tap, and what is refused."""

from __future__ import annotations

import json

import pytest

from eosfw.errors import BadRequestError, ConfigError, DamagedDataError
from eosfw_singer.connector import SingerSourceConnector

from .reading import properties, reading

CATALOG = {"streams": [{"tap_stream_id": name, "stream": name, "schema": {}} for name in ("orders", "items")]}


def test_the_catalog_is_discovered_and_streams_are_chosen(tmp_path):
    """SNG-12: in the metadata, and where old taps look."""
    config = {"catalog": CATALOG, "echo": str(tmp_path / "given")}
    given = properties(config, streams="orders", replication_keys="orders=at", full_table_streams="items")
    with reading(given) as task:
        task.run()
    orders, items = json.loads((tmp_path / "given").read_text())["catalog"]["streams"]
    assert orders["metadata"] == [
        {
            "breadcrumb": [],
            "metadata": {"selected": True, "replication-method": "INCREMENTAL", "replication-key": "at"},
        }
    ]
    assert (orders["schema"]["selected"], orders["selected"], orders["replication_key"]) == (True, True, "at")
    assert (items["schema"]["selected"], items["selected"], items["replication_method"]) == (False, False, "FULL_TABLE")


def test_a_catalog_is_given_as_it_is(tmp_path):
    """SNG-12: as JSON or as a file, by the option that the tap knows."""
    (tmp_path / "catalog.json").write_text(json.dumps(CATALOG))
    for catalog in (json.dumps(CATALOG), tmp_path / "catalog.json"):
        with reading(properties({"echo": str(tmp_path / "given")}, catalog=catalog)) as task:
            task.run()
        assert json.loads((tmp_path / "given").read_text())["catalog"] == CATALOG


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"streams": "order"}, r"streams: the tap has no stream 'order'; it has: items, orders"),
        ({"replication_keys": "a=b"}, r"replication\.keys: the tap has no stream 'a'"),
        ({"full_table_streams": "a"}, r"full\.table\.streams: the tap has no stream 'a'"),
        ({"catalog": "{}", "streams": "a"}, r"catalog: it is no catalog of Singer"),
        *(
            (
                {"catalog": json.dumps({"streams": [{"stream": "a", "metadata": odd}]}), "streams": "a"},
                r"catalog: the metadata of its stream 'a' are none of Singer's",
            )
            for odd in (None, 5, [None], [{"breadcrumb": [], "metadata": None}])
        ),
    ],
)
def test_a_choice_that_the_tap_does_not_have_is_refused(more, said):
    """SNG-13."""
    with reading(properties({"catalog": CATALOG}, **more)) as task, pytest.raises(ConfigError, match=said):
        task.run()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tap.command": ""}, "expected the path of a tap's executable"),
        ({"tap.command": "tap 'x"}, "No closing quotation"),
        (
            {"tap.config": "s3cret"},
            r"Invalid value \[hidden\] .* expected a JSON object; it is no JSON from character 1",
        ),
        ({"tap.config": "[]"}, "expected a JSON object"),
        ({"catalog": "/nowhere"}, "expected a JSON object, or the path of a file with one"),
        ({"tap.state": "{x}"}, "it is no JSON from character 2 on"),
        ({"replication.keys": "orders"}, "expected STREAM=COLUMN, several separated by commas"),
        ({"lookback.rows": "50000"}, "Value must be no more than 20000"),
        ({"older.rows": "sent"}, "String must be one of: fail, send"),
    ],
)
def test_wrong_properties_are_refused(changes, said):
    """SNG-13: by a sentence each."""
    with pytest.raises(ConfigError, match=said) as refused:
        SingerSourceConnector.config.parse(properties({}) | changes)
    assert "s3cret" not in str(refused.value)


def test_properties_that_contradict_each_other_are_refused():
    """SNG-13."""
    given = properties({}, replication_keys="a=b", full_table_streams="a")
    (problem,) = SingerSourceConnector().problems(SingerSourceConnector.config.parse(given))
    assert str(problem) == "full.table.streams: replication.keys names 'a', too; leave it out of one"


@pytest.mark.parametrize(
    ("partition", "offset", "said"),
    [
        ({"file": "a"}, {}, "source partition of a tap"),
        ({"tap": "a"}, {"state": "{"}, "a text of JSON"),
        ({"tap": "a"}, {"state": 5}, "a text of JSON"),
        ({"tap": "a"}, {"state": "{}", "rows": "1"}, "whole numbers"),
        ({"tap": "a"}, {"state": "{}", "repeats": "5"}, "another form"),
    ],
)
def test_wrong_offsets_are_refused_before_they_are_written(partition, offset, said):
    """SNG-13: a STATE alone is enough."""
    connector = SingerSourceConnector()
    assert connector.alter_offsets(None, [({"tap": "a"}, None), ({"tap": "a"}, {"state": '{"bookmarks": {}}'})])
    with pytest.raises((BadRequestError, DamagedDataError), match=said):
        connector.alter_offsets(None, [(partition, offset)])


def test_a_tap_that_is_not_installed_is_named():
    """SNG-13: by the check and by the task."""
    given = properties({}) | {"tap.command": "/nowhere/bin/tap-x"}
    said = "there is no executable '/nowhere/bin/tap-x' on this worker: install the tap into a virtual environment"
    (problem,) = SingerSourceConnector().check(SingerSourceConnector.config.parse(given))
    assert said in str(problem)
    with reading(given) as task, pytest.raises(ConfigError) as refused:
        task.run()
    assert said in str(refused.value)
