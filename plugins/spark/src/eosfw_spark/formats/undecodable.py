"""The error of bytes that do not decode, which never shows any of them."""

from __future__ import annotations


class UndecodableError(ValueError):
    """Bytes that do not decode; the text is the reason.

    `path` are the names of the field, from the outside in, where the reason is one field.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path: list[str] = []

    def __str__(self) -> str:
        reason = super().__str__()
        return f"field {'.'.join(self.path)}: {reason}" if self.path else reason
