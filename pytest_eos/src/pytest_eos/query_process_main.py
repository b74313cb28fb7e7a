"""The program of a driver that a test freezes or kills: `python -m pytest_eos.query_process_main`.

It starts Spark and one streaming query on a checkpoint, writes down how the query ended, and waits until it may stop.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosfw.errors import ExitCode
from pytest_eos.environment.clusters.cluster import runtime
from pytest_eos.environment.processes.gate_folder import GateFolder
from pytest_eos.environment.processes.os_processes import FOLDER_VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from eosfw.concurrency import Event

_LOOK = 0.1


def run(given: dict[str, Any], folder: GateFolder, may_stop: Event) -> None:
    """Run the query until its source has no more, then keep Spark until the test has woken what is frozen."""
    from eosfw_spark import session
    from eosfw_spark.root_cause import root_cause

    running = session.start(more=given["settings"])
    try:
        folder.write("application", _application(running.spark))
        try:
            _await_query(given, running.spark)
        except Exception as why:  # noqa: BLE001 - whatever a user's function raises
            folder.write("ended", {"error": root_cause(why).sentence})
        else:
            folder.write("ended", {"error": None})
        may_stop.wait()
    finally:
        running.close()


def _await_query(given: dict[str, Any], spark: SparkSession) -> None:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    module, _, name = given["query"].partition(":")
    made = getattr(import_module(module), name)(spark, given["options"])
    if hasattr(made, "ended"):  # a step of a pipeline, started
        while not made.ended():
            runtime().sleep(_LOOK)
        return
    if not isinstance(made, DataStreamWriter):
        raise TypeError(f"it returned a {type(made).__name__}: it must return a DataStreamWriter that is not started")
    query = made.option("checkpointLocation", given["checkpoint"]).trigger(availableNow=True).start()
    query.awaitTermination()


def _application(spark: SparkSession) -> dict[str, str]:
    """Where executor processes on this machine leave their files."""
    from pyspark.find_spark_home import _find_spark_home

    return {"home": _find_spark_home(), "id": str(spark.sparkContext.applicationId)}


def _listen(may_stop: Event) -> None:
    if not sys.stdin.readline():  # the test has ended without a word
        os._exit(ExitCode.INTERRUPTED)
    may_stop.set()


def main() -> None:
    """Read from stdin what to run; a second line there says that the test is done."""
    given = json.loads(sys.stdin.readline())
    may_stop = runtime().event()
    runtime().spawn("eos-query-stop", lambda: _listen(may_stop))
    run(given, GateFolder(Path(os.environ[FOLDER_VARIABLE])), may_stop)


if __name__ == "__main__":
    main()
