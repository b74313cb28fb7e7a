"""The expected records of an endless source come from a replay, which ends."""

from __future__ import annotations

import pytest
from tests.pytest_eos.counter import CounterTask, connector

from eosfw.errors import DamagedDataError
from eosfw.pipeline.verdicts import task_replay


@connector()
class Endless(CounterTask):
    """Always has more."""

    def poll(self):
        self.until += self.batch
        return super().poll()


def test_a_source_without_end_that_lost_a_partition_ends_the_replay(eos, monkeypatch):
    """Nothing can be expected of a source that changed; the replay says so, it does not go on for ever."""
    monkeypatch.setattr(task_replay, "_MAX_UNCOMMITTED_POLLS", 1_000)
    run = eos.run(Endless, {"streams": 2, "tasks.max": 1}, until=20)
    eos.assert_exactly_once(run, run.source_records())
    run.group.connectors[run.name] = {**run.properties, "streams": "1"}

    said = r"never met again: \{'stream': 's1'\};.* keeps its place elsewhere .* whatever `tasks.max` is"
    with pytest.raises(DamagedDataError, match=said):
        run.source_records()
