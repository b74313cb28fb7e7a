"""Word what was wrong with a command line."""

from __future__ import annotations

from typing import Any


def usage_sentence(error: Any) -> str:
    """What was wrong, and where help is; `error` is one of typer's own usage errors."""
    context = getattr(error, "ctx", None)
    text = str(error.format_message())
    path = context.command_path if context is not None else "eosfw"
    return f"{text if text.endswith(('?', '.')) else f'{text}.'} Try: {path} --help"
