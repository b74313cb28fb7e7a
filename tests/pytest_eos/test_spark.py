"""Counted in Spark, a run is judged as without it."""

from __future__ import annotations

import pytest
from tests.pytest_eos.broken import IdleFencer
from tests.pytest_eos.counter import CounterConnector

from pytest_eos import assert_exactly_once, assert_no_duplicates

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]


@pytest.mark.eos_zombie(at="commit")
def test_a_run_with_a_zombie_is_exactly_once_in_spark(eos, eos_spark):
    """The author's own test: every record once, by identity in its headers, then by value."""
    run = eos.run(CounterConnector, {"streams": 2})

    eos.assert_exactly_once(run.dataframe(eos_spark), expected=run.source_records())
    assert_no_duplicates(run.dataframe(eos_spark), key="value")


@pytest.mark.eos_zombie(at="send-offsets")
def test_duplicates_are_explained_from_spark(eos, eos_spark):
    """The places come from Spark, who wrote them from the laboratory."""
    eos.use(fencer=IdleFencer)
    run = eos.run(CounterConnector, {"streams": 2})

    with pytest.raises(AssertionError, match="4 duplicates") as found:
        eos.assert_exactly_once(run.dataframe(eos_spark), expected=run.source_records())

    assert 'counter {"stream":"s1"} {"next":5}: 2 times' in str(found.value)
    assert "by task counter-1 of generation 0, transaction 2" in str(found.value)


def test_columns_of_any_frame_can_be_the_key(eos_spark):
    """`key`: columns, expected as values or as another frame."""
    frame = eos_spark.createDataFrame([(1, "a"), (2, "b"), (2, "b"), (4, "d")], "id int, name string")

    assert_exactly_once(frame.where("id = 1"), [1], key="id")
    with pytest.raises(AssertionError, match="1 duplicates, 1 missing, 1 unexpected") as found:
        assert_exactly_once(frame, eos_spark.createDataFrame([(1,), (2,), (3,)], "id int"), key="id")
    with pytest.raises(AssertionError, match="1 duplicates"):
        assert_no_duplicates(frame, key=["id", "name"])
    with pytest.raises(ValueError, match="itself not unique"):
        assert_exactly_once(frame, [1, 1], key="id")

    assert "    2: 2 times" in str(found.value)
