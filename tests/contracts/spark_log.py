"""Read a log through Spark, so that Spark's side can be held to the contract of isolation readers."""

from __future__ import annotations

import json
from collections import defaultdict

from eosfw.builtin.isolation import ReadCommitted
from eosfw.errors import ReadStalledError
from eosfw.records import LogBatch


class SparkLog:
    """A `LogReader` whose records come out of `spark.read.format("eosfw")`, at read_committed."""

    def __init__(self, spark, bootstrap_servers):
        self._spark, self._bootstrap_servers = spark, bootstrap_servers

    def read(self, ranges, stall_timeout):
        from pyspark.errors import PythonException  # where Spark is missing this module is collected all the same

        assign, start, end = defaultdict(list), defaultdict(dict), defaultdict(dict)
        for one, offsets in ranges.items():
            assign[one.topic].append(one.partition)
            start[one.topic][str(one.partition)], end[one.topic][str(one.partition)] = offsets.start, offsets.end
        options = {"assign": assign, "startingOffsets": start, "endingOffsets": end}
        frame = self._spark.read.format("eosfw").options(**{name: json.dumps(value) for name, value in options.items()})
        frame = frame.option("kafka.bootstrap.servers", self._bootstrap_servers).option("backend", "memory")
        frame = frame.option("kafkaConsumer.pollTimeoutMs", str(round(stall_timeout * 1000))).load()
        try:
            rows = frame.orderBy("topic", "partition", "offset").collect() if ranges else []
        except PythonException as why:  # a worker's error comes as text
            if ReadStalledError.__name__ not in str(why):
                raise
            raise ReadStalledError(str(why)) from why
        for row in rows:
            stamp = int(row.timestamp.timestamp() * 1000)
            key, value = (None if one is None else bytes(one) for one in (row.key, row.value))
            yield LogBatch(row.topic, row.partition, [row.offset], [key], [value], [stamp])

    def close(self):
        pass


def reader_over(spark, bootstrap_servers):
    """The reader's class: the framework's own accounting of offsets, over records that Spark read."""

    class ThroughSpark(ReadCommitted):
        @classmethod
        def over(cls, backend, runtime, *, headers=False):
            return cls(SparkLog(spark, bootstrap_servers), backend.admin())

    return ThroughSpark
