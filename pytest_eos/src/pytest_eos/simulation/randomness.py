"""Draw what code takes from the operating system's randomness from the seed instead."""

from __future__ import annotations

import os
import random
import time
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eosfw.concurrency import Runtime


@contextmanager
def seeded(seed: int, runtime: Runtime) -> Iterator[None]:
    """Within it uuid4, `secrets` and the functions of `random` give what the seed draws; `time.sleep` is virtual.

    For the calling thread alone; others meet the real ones.
    """
    source = random.Random(f"{seed} system")  # noqa: S311 - repeatable on purpose, no secret
    thread, urandom, state = get_ident(), os.urandom, random.getstate()
    sleep = time.sleep  # noqa: TID251 - for other threads; nothing here waits by it

    def drawn(size: int, /) -> bytes:
        return source.randbytes(size) if get_ident() == thread else urandom(size)

    def slept(seconds: Any, /) -> None:
        (runtime.sleep if get_ident() == thread else sleep)(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.urandom", drawn)
        patch.setattr("random._urandom", drawn)  # by this name `secrets` draws
        patch.setattr("time.sleep", slept)
        random.seed(f"{seed} random")
        try:
            yield
        finally:
            random.setstate(state)
