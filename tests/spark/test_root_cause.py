"""How a failure in Spark is reduced to its sentence."""

from __future__ import annotations

import pytest

from eosfw.errors import ClusterUnavailableError, ExitCode
from eosfw_spark.root_cause import Cause, root_cause


class FromSparkError(Exception):
    """Stands for any class of PySpark or Py4J."""


FromSparkError.__module__ = "pyspark.errors.exceptions.captured"

PLANNING = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: \
Traceback (most recent call last):
  File "/somewhere/source.py", line 13, in partitions
    raise ClusterUnavailableError("no broker at h:1: start one")
    ^^^^^
eosfw.errors.ClusterUnavailableError: no broker at h:1: start one
 SQLSTATE: 38000"""
CHAINED = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "a.py", line 1, in a
KeyError: 'inner'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 3, in a
    raise ValueError("outer") from why
ValueError: outer
"""
DIVISION = """[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate. SQLSTATE: 22012
== SQL (line 1, position 8) ==
select 1/0
       ^^^
"""
BARRIER = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Could not recover from a failed barrier \
ResultStage. Most recent failure reason: Stage failed because barrier task ResultTask(0, 1) finished unsuccessfully.
{reason}
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
"""
COLUMN = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `x` cannot be resolved. \
SQLSTATE: 42703; line 1 pos 7;
'Project ['x]
+- OneRowRelation
"""
SYNTAX = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)

== SQL ==
selec 1
^^^
"""
JOB = """An error occurred while calling o192.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 3.0 (TID 4) (192.0.2.2 executor driver): java.io.IOException: Mkdirs failed to create x
\tat org.apache.hadoop.fs.Thing.create(Thing.java:480)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
"""
STREAM = """[STREAM_FAILED] Query [id = 4d40, runId = 1449] terminated with exception: [PYTHON_EXCEPTION] \
An exception was thrown from the Python worker: Traceback (most recent call last):
  File "a.py", line 86, in write
    raise ValueError("no topic")
ValueError: no topic
 SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 4d40, runId = 1449]

Logical Plan:
WriteToMicroBatchDataSource eosfw
"""

HIDDEN = """[STREAM_FAILED] Query terminated with exception: Error from python stream source: \
Traceback (most recent call last):
  File "python_streaming_source_runner.py", line 285, in main
    reader = _streamReader(data_source, schema)
  File "option_parser.py", line 50, in _raise_problems
    raise ConfigError(*self._problems)
eosfw.errors.ConfigError: option maxOffsetsPerTrigger must be a whole number above 0, not x

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "python_streaming_source_runner.py", line 327, in main
    reader.stop()
    ^^^^^^
UnboundLocalError: cannot access local variable 'reader' where it is not associated with a value
"""
"""PySpark stops a reader that it could not make."""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (STREAM, "ValueError: no topic"),
        (CHAINED, "ValueError: outer"),
        (DIVISION, "Division by zero. Use `try_divide` to tolerate."),
        (COLUMN, "A column with name `x` cannot be resolved. (line 1 pos 7)"),
        (SYNTAX, "Syntax error at or near 'selec'. (line 1, pos 0)"),
        (JOB, "Mkdirs failed to create x"),
        (BARRIER.format(reason="java.io.IOException: Mkdirs failed to create x"), "Mkdirs failed to create x"),
        (
            BARRIER.format(reason="ExecutorLostFailure (executor 1 exited unrelated to the tasks) Reason: Killed"),
            "Spark lost executor 1, which exited unrelated to the tasks: Killed",
        ),
    ],
)
def test_the_root_cause_of_a_spark_error_is_one_sentence(text: str, sentence: str) -> None:
    assert root_cause(FromSparkError(text)) == Cause(sentence)


def test_our_own_errors_keep_their_words_and_their_exit_code_across_processes() -> None:
    expected = Cause("no broker at h:1: start one", ExitCode.UNAVAILABLE)

    assert root_cause(FromSparkError(PLANNING)) == expected
    assert root_cause(ClusterUnavailableError("no broker at h:1: start one")) == expected


def test_the_reason_why_there_is_no_reader_is_reported_not_that_pyspark_misses_it() -> None:
    """Bad input: an option of a stream's reader with a wrong value."""
    expected = Cause("option maxOffsetsPerTrigger must be a whole number above 0, not x", ExitCode.CONFIGURATION)

    assert root_cause(FromSparkError(HIDDEN)) == expected


def test_a_jvm_that_is_gone_is_reported_as_such() -> None:
    """Bad input: a JVM that was killed; Py4J says `Error while sending or receiving`."""
    lost = type("Py4JNetworkError", (Exception,), {"__module__": "py4j.protocol"})

    assert root_cause(lost("Error while sending or receiving")).sentence.startswith("Spark's JVM has ended")


def test_an_error_of_the_users_own_code_is_named() -> None:
    assert root_cause(KeyError("dep_delay")).sentence == "KeyError: 'dep_delay'"
