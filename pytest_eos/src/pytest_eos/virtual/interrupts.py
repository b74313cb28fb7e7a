"""Let Ctrl-C end the session, whichever participant of a virtual clock it meets."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from greenlet import getcurrent


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if it met a greenlet, whose code may take it for its own failure."""
    before = signal.getsignal(signal.SIGINT)
    lost = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal lost
        lost = lost or getcurrent().parent is not None
        if callable(before):
            before(number, frame)

    try:
        signal.signal(signal.SIGINT, handle)
    except ValueError:  # this is another thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if lost and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt
