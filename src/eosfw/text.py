"""Text for users."""

from __future__ import annotations

__all__ = ["error_line", "quantity", "readable", "shown", "type_name"]

_LONGEST = 200


def quantity(number: int, what: str) -> str:
    """A number with its noun, in the right form: `1 record`, `2,000 records`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def shown(value: str | bytes | None) -> str:
    """What others wrote, in one line that is not long, whatever is in it."""
    if value is None or len(value) <= _LONGEST:
        return repr(value)
    return f"{value[:_LONGEST]!r}... ({len(value):,} in all)"


def readable(text: str) -> str:
    """A text that somebody gave, as it is if it can stand in a line; else in quotes, escaped and cut short."""
    return text if text.isprintable() and len(text) <= _LONGEST else shown(text)


def type_name(value: object) -> str:
    """The name of a value's class, with NumPy's where it is from there: `numpy.int64`, which is no number of Python."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def error_line(trace: str | None) -> str:
    """The line of a trace that says what went wrong: the last one of Python's, else the first one, as in Java's."""
    lines = (trace or "").strip().splitlines() or [""]
    return lines[-1 if "Traceback" in lines[0] else 0].strip()
