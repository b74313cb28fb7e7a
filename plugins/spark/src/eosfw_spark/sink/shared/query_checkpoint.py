"""The checkpoint of a running query (Spark's `StreamExecution`), of which a function for `foreachBatch` is not told."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from eosfw.errors import one_line
from eosfw_spark.sink.staging import checkpoint_name, entry_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)


class PlannedBatch(NamedTuple):
    """What a token keeps of the checkpoint that planned its batch; each is empty if it is not known."""

    checkpoint: str = ""
    entry: str = ""
    """A hash of the batch's entry in the offset log (`staging.offset_log_entry`)."""


UNKNOWN: Final = PlannedBatch()


def planned_batch(session: SparkSession, query: str, number: int) -> PlannedBatch:
    """The checkpoint of a query that runs, and the batch's entry there, on whatever storage Spark has it."""
    spark: Any = session  # its JVM is no part of PySpark's interface
    try:
        java, jvm = spark._jsparkSession, spark.sparkContext._jvm  # noqa: SLF001 - no other way
        # The session of a batch is a clone, whose `streams` knows no query.
        execution = java.sharedState().activeStreamingQueries().get(jvm.java.util.UUID.fromString(query))
        if execution is None:
            return UNKNOWN
        root = execution.resolvedCheckpointRoot()
        entry = jvm.org.apache.hadoop.fs.Path(f"{root}/offsets/{number}")
        files = entry.getFileSystem(java.sessionState().newHadoopConf())
        with closing(files.open(entry)) as stream:
            return PlannedBatch(checkpoint_name(root), entry_hash(stream.readAllBytes()))
    except (Py4JError, PySparkException) as why:
        logger.info("Spark does not tell where the checkpoint of query %s is: %s", query, one_line(why))
        return UNKNOWN
