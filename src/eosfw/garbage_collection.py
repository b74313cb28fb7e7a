"""A pause of Python's search for cycles of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused"]


@contextmanager
def collection_paused() -> Iterator[None]:
    """Do not look for cycles meanwhile, where millions of objects without one are made.

    The collector walks through them again and again: a fifth of the time of a check of a history, or of a read.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
