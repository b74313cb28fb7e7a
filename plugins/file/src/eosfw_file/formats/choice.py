"""Choose the format of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from eosfw.builtin.converters import value_schema
from eosfw_file.formats.csv_rows import MalformedError, Rows
from eosfw_file.formats.header import read_header
from eosfw_file.formats.json_records import JsonRecords
from eosfw_file.formats.jsonl import JsonLines
from eosfw_file.formats.lines import Lines
from eosfw_file.formats.malformed_lines import MalformedLine
from eosfw_file.formats.text_format import Format, TextChunk

if TYPE_CHECKING:
    from eosfw.config import Config

FormatOpener = Callable[[TextChunk], tuple[Format, int] | None]
"""Takes the beginning of a file; returns its format and the position of its first record, or None for more text."""


def format_opener(config: Config) -> FormatOpener:
    """The opener of files with these properties."""
    if config["format"] == "csv":
        return _csv(config["delimiter"], raw=config["value"] == "raw")
    always = _same_everywhere(config)
    return lambda _text: (always, 0)


def _same_everywhere(config: Config) -> Format:
    if config["format"] != "jsonl":
        return Lines()
    schema = value_schema(config)
    return JsonLines() if schema is None else JsonRecords(schema)


def _csv(delimiter: str, *, raw: bool) -> FormatOpener:
    def open_csv(text: TextChunk) -> tuple[Format, int] | None:
        try:
            header = read_header(text, delimiter)
        except MalformedError as why:
            raise MalformedLine(0, str(why)) from None
        return None if header is None else (Rows(header.names, delimiter, raw=raw), header.end)

    return open_csv
