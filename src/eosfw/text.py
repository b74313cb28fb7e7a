"""Text for users."""

from __future__ import annotations

__all__ = ["quantity"]


def quantity(number: int, what: str) -> str:
    """A number with its noun, in the right form: `1 record`, `2,000 records`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
