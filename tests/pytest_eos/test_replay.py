"""The expected records of an endless source come from a replay, which ends."""

from __future__ import annotations

import pytest
from tests.pytest_eos.test_sketch import CounterConnector

from eosfw.errors import DamagedDataError


def test_sources_without_end_are_replayed_up_to_what_was_committed(eos):
    """Every task counts for ever; each source partition ends where it was committed."""
    run = eos.run(CounterConnector, {"streams": 3, "tasks.max": 2}, until=50)

    eos.assert_exactly_once(run, run.source_records())


def test_a_source_without_end_that_lost_a_partition_ends_the_replay(eos):
    """Nothing can be expected of a source that changed; the replay says so, it does not go on for ever."""
    run = eos.run(CounterConnector, {"streams": 2}, until=20)
    run.group.connectors[run.name] = {**run.properties, "streams": "1"}

    with pytest.raises(DamagedDataError, match=r"never met again: \{'stream': '1'\};.* whatever `tasks.max` is"):
        run.source_records()
