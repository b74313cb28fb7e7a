"""What a test runs: connectors on workers, queries of Spark, pipelines; and what they committed.

`run_harness` makes runs, a `Run` of `run` is what tests hold and verdicts ask, `operations` makes its history. Nothing
is imported here: whether Spark can run (`queries.spark`) is asked before the framework is loaded.
"""
