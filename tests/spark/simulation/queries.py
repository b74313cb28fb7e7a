"""Play one seed of a query that writes by the exactly-once sink, and judge what became of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from eosfw.protocols import NewTopic
from eosfw_spark.clients import plugins
from pytest_eos.runs.operations import query_operations
from pytest_eos.runs.queries.runs import QueryRun
from pytest_eos.simulation.fault_execution import FaultExecution
from pytest_eos.simulation.fault_plan import FaultPlan
from pytest_eos.simulation.harness import SimulationHarness, broker_faults
from pytest_eos.simulation.seeds import Played, play
from pytest_eos.simulation.trace import Trace
from pytest_eos.verdict.anomalies import assert_no_anomaly

from .checkpoint import Checkpoint
from .cluster import SparkCluster, StreamingQuery
from .python_processes import simulated_processes
from .sinks import Batch, Publish, format_sink, handles_without_sockets, shared_sink

BATCHES, PARTITIONS, ROWS = 4, 2, 3
"""Of the query: its batches, their partitions, the Arrow batches of each, which have two rows."""
_TOPIC = "rows"
_SETTLE = 30.0
"""Virtual seconds in which what is late arrives."""
_PATIENCE = 3
"""How often a query may fail once the faults are over: of what they have left behind."""

MODES: dict[str, Callable[[dict[str, str]], Publish]] = {
    "atomic": format_sink,
    "parallel": lambda options: format_sink({**options, "mode": "parallel", "writers": str(PARTITIONS)}),
    "shared": lambda options: shared_sink(
        {name: text for name, text in options.items() if name != "checkpointLocation"}
    ),
}
"""The modes of the sink by name."""


def played(plan: FaultPlan, folder: Path, mode: str, *, keep: bool = False) -> Played:
    """Play a plan with a query whose sink has a mode."""
    plugins()  # they are loaded by threads, once
    return play(plan, lambda eos: run_query(eos, mode), f"tests/spark/simulation {mode}", folder, Trace(keep=keep))


def run_query(eos: SimulationHarness, mode: str) -> None:
    """Run a query under the faults of the plan to the end of its input, then judge the topic that it wrote."""
    query_id = str(uuid4())
    with closing(eos.backend.admin()) as admin:
        admin.create_topics([NewTopic(_TOPIC, PARTITIONS, 1)])
    with TemporaryDirectory(prefix="eosfw-checkpoint-") as folder, simulated_processes(), handles_without_sockets():
        checkpoint = Checkpoint(Path(folder), query_id)
        options = {
            "kafka.bootstrap.servers": eos.cluster.client["bootstrap.servers"],
            "backend": "memory",
            "topic": _TOPIC,
            "checkpointLocation": folder,
        }
        batches = [_batch(query_id, number, placed=eos.plan.settled) for number in range(BATCHES)]
        query = StreamingQuery(query_id, checkpoint, batches, MODES[mode](options), eos.plan.poll_seconds)
        observers = (eos.history, eos.trace)
        spark = SparkCluster(eos.runtime, query, executors=eos.plan.workers, observers=observers)  # type: ignore[arg-type]
        try:
            _run_under_faults(eos, spark)
        finally:
            spark.end()
        _judge(eos, query)


def _run_under_faults(eos: SimulationHarness, spark: SparkCluster) -> None:
    execution = eos.execution = FaultExecution(eos.plan, spark, broker_faults(eos.cluster), eos.trace, spark.beside)
    spark.start()
    eos.waiter.until(lambda: spark.query.finished() or eos.runtime.now() > 300, "the end of the faults")
    eos.runtime.sleep(_SETTLE)  # what is late still may come
    execution.end()
    failures = spark.failures
    eos.waiter.until(lambda: spark.query.finished() or spark.failures > failures + _PATIENCE, "the end of the query")
    assert spark.query.finished(), (
        f"the query fails again and again, though nothing disturbs it any more: {spark.state()}"
    )
    eos.runtime.sleep(_SETTLE)
    local = eos.cluster.local
    if local is not None:
        eos.waiter.until(lambda: not local.open_transactions(), "the end of every transaction")


def _judge(eos: SimulationHarness, query: StreamingQuery) -> None:
    __tracebackhide__ = True
    expected = [
        value for batch in query.batches for rows in batch.partitions for each in rows for value in each[0].to_pylist()
    ]
    eos.assert_exactly_once(eos.topic(_TOPIC), expected)
    run = QueryRun("a simulated query", query.checkpoint.folder, [])
    assert_no_anomaly(run, query_operations(eos, run, _TOPIC), eos.settings.folder / "history.jsonl")


def _batch(query: str, number: int, *, placed: bool) -> Batch:
    """A batch; `placed`: its rows say to which partition they go."""
    schema = StructType([StructField("value", StringType())])
    if placed:
        schema = schema.add("partition", IntegerType())

    def rows(part: int, each: int) -> pa.RecordBatch:
        columns = {"value": pa.array([f"{number}-{part}-{each}{letter}" for letter in "ab"])}
        if placed:
            columns["partition"] = pa.array([(part + each) % PARTITIONS, part], pa.int32())
        return pa.RecordBatch.from_pydict(columns)

    return Batch(query, number, schema, [[rows(part, each) for each in range(ROWS)] for part in range(PARTITIONS)])
