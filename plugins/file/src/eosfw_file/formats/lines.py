"""The format without structure: a record for each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw_file.formats.text_format import ParsedRecords, ends_of, pieces_of, without_returns

if TYPE_CHECKING:
    from eosfw_file.formats.text_format import ReportMalformed, TextChunk


class Lines:
    r"""A record for each line, without its \n or \r\n; a line may hold any bytes."""

    schema = None

    def parse(self, text: TextChunk, report_malformed: ReportMalformed) -> ParsedRecords:
        del report_malformed  # no line can be malformed
        pieces = pieces_of(text)
        return ParsedRecords(without_returns(pieces, text), ends_of(pieces, text), text.end)
