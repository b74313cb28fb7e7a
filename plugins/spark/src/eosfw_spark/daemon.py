"""Spark's worker daemon that imports our modules before it forks, so that no worker and no task does it again."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from pkgutil import get_importer
from typing import Final
from zipimport import zipimporter

PRELOADED: Final = (
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "eosfw_spark.data_source",
    "eosfw_spark.sink.atomic_write",
    "eosfw_spark.source.batch_reader",
    "eosfw_spark.source.columns",
)


class _FixedArchive(zipimporter):
    """An archive of modules that stays as it is, so that its directory is read once."""

    def invalidate_caches(self) -> None:
        """Do nothing."""


def fix_archives() -> None:
    """Have archives that are on the path of imports now read once for all tasks; what Spark adds later is read anew.

    PySpark 4.0 invalidates the caches of all imports before each task. Python then reads the directory of
    `pyspark.zip` again for each package in it, and that of the jar of Spark's core: 90 ms of a processor.
    """
    for path in {*sys.path, *sys.path_importer_cache}:
        if isinstance(get_importer(path), zipimporter):
            sys.path_importer_cache[path] = _FixedArchive(path)


def main() -> None:
    """Import the modules, then run Spark's daemon; no thread may run before, because the workers are forks."""
    from pyspark.daemon import manager

    from eosfw_spark.clients import plugins

    for name in PRELOADED:
        import_module(name)
    plugins()
    fix_archives()
    # A worker collects all garbage after each task: what stands now is no garbage, and to look through it again took
    # more of a processor than a task of 50,000 records.
    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
