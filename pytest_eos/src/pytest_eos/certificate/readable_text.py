"""Text of others in which everything can be seen."""

from __future__ import annotations

import re

_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Characters that a browser drops, or that change the order in which the others are read."""


def readable(text: str) -> str:
    """The text with what cannot be seen written out."""
    return _UNREADABLE.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))
