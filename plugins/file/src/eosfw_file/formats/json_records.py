"""JSON Lines with a schema: a value of it for each line, as Kafka Connect's JsonConverter reads JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from eosfw.builtin.converters import parse_json, read_payload
from eosfw.data import Schema, Type, fitted_values
from eosfw.errors import DataError
from eosfw_file.formats.text_format import ParsedRecords, ends_of, pieces_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw_file.formats.text_format import ReportMalformed, TextChunk

_PLAIN: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOLEAN, Type.STRING)
"""Types whose values are what `json` makes of them."""


class JsonRecords:
    """A value for each line; fields that its schema has not are left out, and blank lines are not records."""

    def __init__(self, schema: Schema) -> None:
        self.schema: Schema | None = schema
        self._schema = schema
        self._names = schema.names if _is_plain(schema) else ()

    def parse(self, text: TextChunk, report_malformed: ReportMalformed) -> ParsedRecords:
        lines = pieces_of(text)
        ends = ends_of(lines, text)
        values = self._all(lines) if self._names else None
        if values is not None:
            return ParsedRecords(values, ends, text.end)
        return self._each(lines, ends, text, report_malformed)

    def _all(self, lines: Sequence[bytes]) -> list[Any] | None:
        """The values of lines that all fit a schema without nesting; None if one does not, or is blank."""
        names = self._names
        try:
            rows = [json.loads(line) for line in lines]
            values = [{name: row.get(name) for name in names} for row in rows]
            fitted_values(self._schema, values)
        except (ValueError, AttributeError, RecursionError, DataError):
            return None
        return values

    def _each(
        self, lines: Sequence[bytes], line_ends: Sequence[int], text: TextChunk, report_malformed: ReportMalformed
    ) -> ParsedRecords:
        values: list[Any] = []
        ends: list[int] = []
        start = text.start
        for line, end in zip(lines, line_ends, strict=True):
            if line.strip():
                try:
                    values.append(read_payload(self._schema, _document(line)))
                    ends.append(end)
                except DataError as why:
                    report_malformed(start, f"{why}")
            start = end
        return ParsedRecords(values, ends, text.end)


def _document(line: bytes) -> Any:
    try:
        return parse_json(line)
    except DataError:
        raise DataError("not JSON") from None


def _is_plain(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and all(
        one.schema.type in _PLAIN and one.schema.name is None and one.schema.default is None for one in schema.fields
    )
