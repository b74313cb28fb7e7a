"""A pause of Python's search for cycles of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Do not look for cycles meanwhile.

    A history is millions of objects without a cycle. The collector walks through them again and again while they are
    made, which takes a fifth of the time of a check.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
