"""The base class of writers that take a query's rows as Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter

if TYPE_CHECKING or hasattr(datasource, "DataSourceStreamArrowWriter"):
    from pyspark.sql.datasource import DataSourceStreamArrowWriter as ArrowStreamWriter
else:

    class ArrowStreamWriter(DataSourceArrowWriter, DataSourceStreamWriter):
        """PySpark 4.0 has none, but passes Arrow batches to whatever is a writer of them, in streams as well."""


__all__ = ["ArrowStreamWriter"]
