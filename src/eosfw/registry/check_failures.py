"""What is logged of plugins that fail while they are checked."""

from __future__ import annotations

import logging
import traceback


def log_failure(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log what a plugin raised while it was checked: with its trace, but without its text.

    The text may show what a config provider gave, and nobody knows these secrets yet.
    """
    trace = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s: %s\n%s", what, type(error).__name__, trace)
