"""The files of the aggregation."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from eosfw_demo.aggregate import Row


def read_parquet(folder: Path) -> list[Mapping[str, object]]:
    """Read all rows of a folder of Parquet files."""
    from pyarrow import parquet  # installed with eosfw-spark, which writes these folders

    rows: list[Mapping[str, object]] = parquet.read_table(folder).to_pylist()
    return rows


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows after a header line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
