"""The shortest proof of a third-party connector: the connector, one test, Spark."""

from __future__ import annotations

import pytest

from eosfw.config import ConfigDef, Int
from eosfw.connectors import ExactlyOnceSupport, SourceConnector, SourceRecord, SourceTask

pytestmark = pytest.mark.timeout(300)


class CounterTask(SourceTask):
    """Counts for ever, one number of each of its streams at a time."""

    def start(self, config, context):
        self.streams = [{"stream": stream} for stream in config["streams"].split(",")]
        self.next = [(context.offset(stream) or {"next": 0})["next"] for stream in self.streams]

    def poll(self):
        self.next = [number + 1 for number in self.next]
        return [
            SourceRecord("counts", value=b"%d" % number, source_partition=stream, source_offset={"next": number})
            for stream, number in zip(self.streams, self.next, strict=True)
        ]


class CounterConnector(SourceConnector):
    name, task = "counter", CounterTask
    config = ConfigDef(Int("streams", default=1, at_least=1, doc="independent counters"))

    def task_configs(self, config, max_tasks):
        streams = [str(number) for number in range(config["streams"])]
        return [{"streams": ",".join(streams[first::max_tasks])} for first in range(min(max_tasks, len(streams)))]

    def exactly_once_support(self, config):
        return ExactlyOnceSupport.SUPPORTED


@pytest.mark.spark
@pytest.mark.eos_zombie(at="all")  # one test per step of the startup protocol and of a transaction
def test_a_connector_with_a_zombie_writes_each_count_once(eos, eos_spark):
    """FEN-01..05, FEN-08..10, TXN-02: whatever step a task slept at, every count is there once, by Spark's count."""
    counts = eos.run(CounterConnector, {"streams": 3, "tasks.max": 3}, until=1_000)
    eos.assert_exactly_once(counts.dataframe(eos_spark), expected=counts.source_records())
