"""Take each line as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw_file.parsing import Parsed, ends_of, pieces_of, without_returns

if TYPE_CHECKING:
    from eosfw_file.parsing import Complaint, Text


class Lines:
    r"""The value is the line without its \n or \r\n; any bytes will do."""

    def parse(self, text: Text, complain: Complaint) -> Parsed:
        del complain  # no line can be malformed
        pieces = pieces_of(text)
        return Parsed(without_returns(pieces, text), ends_of(pieces, text), text.end)
