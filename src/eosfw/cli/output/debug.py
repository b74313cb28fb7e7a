"""The switch between tracebacks for developers and sentences for users."""

from __future__ import annotations

import logging
import os
import traceback

DEBUG = "EOSFW_DEBUG"
"""Environment variable: with a value, errors show their traceback. It is inherited by processes that a run starts."""


def is_enabled() -> bool:
    """Whether tracebacks were asked for."""
    return bool(os.environ.get(DEBUG))


def enable() -> None:
    """Show tracebacks, and log what is of interest to developers, from now on."""
    os.environ[DEBUG] = "1"
    logging.getLogger().setLevel(logging.INFO)


def print_traceback() -> None:
    """Print the traceback of the exception that is handled, if tracebacks were asked for."""
    if is_enabled():
        traceback.print_exc()
