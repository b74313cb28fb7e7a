"""Write and read the aggregation as files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from eosfw_demo.aggregate import Row


def read_parquet(folder: Path) -> list[Mapping[str, object]]:
    """Every row of a folder of Parquet files."""
    from pyarrow import parquet  # comes with eosfw-spark, which alone writes such folders

    rows: list[Mapping[str, object]] = parquet.read_table(folder).to_pylist()
    return rows


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """The rows with a header line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
