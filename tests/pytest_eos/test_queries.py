"""Zombies of Spark's drivers and executors, and what their queries wrote."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.protocols import NewTopic

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def copied(eos):
    """Run a counter into a topic, then copy that topic; the values."""
    run = eos.run(CounterConnector, {"streams": 2, "topic": "from"})
    with closing(eos.backend.admin()) as admin:
        admin.create_topics([NewTopic("to", 2)])
    query = eos.run_query("tests.pytest_eos.queries:copy", {"from": "from", "to": "to"})
    return query, [record.value for record in run.source_records()]


@pytest.mark.eos_zombie(at="batch")
def test_each_row_is_in_the_topic_once_whoever_stands_still(eos):
    """A driver whose checkpoint a second one takes, or an executor beside which another attempt runs."""
    _, expected = copied(eos)

    eos.assert_exactly_once("to", expected, key="value")
