"""Spark's worker daemon that imports our modules before it forks, so that no worker imports them again."""

from __future__ import annotations

from importlib import import_module
from typing import Final

PRELOADED: Final = (
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "eosfw_spark.data_source",
    "eosfw_spark.source.columns",
)


def main() -> None:
    """Import the modules, then run Spark's daemon; no thread may run before, because the workers are forks."""
    from pyspark.daemon import manager

    from eosfw_spark.clients import plugins

    for name in PRELOADED:
        import_module(name)
    plugins()
    manager()


if __name__ == "__main__":
    main()
