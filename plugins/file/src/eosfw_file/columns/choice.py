"""Choose the format of a file of columns; it needs pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eosfw_file.columns.arrow_ipc import ArrowColumns
from eosfw_file.columns.column_reader import ColumnReader
from eosfw_file.columns.parquet import ParquetColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eosfw.config import Config
    from eosfw_file.columns.column_file import ColumnFile
    from eosfw_file.files.source_file import SourceFile

_FORMATS: Final[Mapping[str, type[ColumnFile]]] = {"parquet": ParquetColumns, "arrow": ArrowColumns}


def column_reader(file: SourceFile, config: Config) -> ColumnReader:
    """The reader of a file with these properties."""
    zone = config["timestamp.timezone"]
    emit = config["incomplete.last.line"] == "emit"
    return ColumnReader(file, _FORMATS[config["format"]], zone=zone, emit_incomplete=emit)
