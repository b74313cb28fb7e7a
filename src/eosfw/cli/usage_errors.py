"""Errors in a command line, as sentences."""

from __future__ import annotations

from typing import Any


def usage_sentence(error: Any) -> str:
    """What is wrong, and the command for help; `error` is a usage error of typer."""
    context = getattr(error, "ctx", None)
    text = str(error.format_message())
    path = context.command_path if context is not None else "eosfw"
    return f"{text if text.endswith(('?', '.')) else f'{text}.'} Try: {path} --help"
