"""Show on stderr how far a run is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO

from eosfw.pipeline.local import LocalRun
from eosfw.wording import many

_LIVE = 0.2
_PLAIN = 5.0


class Progress:
    """One line that changes on a terminal, a line now and then elsewhere; nothing but warnings when quiet."""

    def __init__(self, now: Callable[[], float], *, quiet: bool, stream: TextIO | None = None) -> None:
        self._now = now
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._shown = now()
        self._begun = now()
        self._open_line = False
        self.run: LocalRun | None = None
        """What runs, as soon as it does."""
        self.current = "starting"
        """What was begun last."""

    def started(self, run: LocalRun) -> None:
        self.run = run

    def phase(self, text: str) -> None:
        self.current = text
        if not self._quiet:
            self._line(f"eosfw: {text} ({self._now() - self._begun:.1f} s)")

    def warning(self, text: str) -> None:
        self._line(f"eosfw: warning: {text}")

    def working(self, records: int, transactions: int) -> None:
        now = self._now()
        if self._quiet or now - self._shown < (_LIVE if self._live else _PLAIN):
            return
        self._shown = now
        rate = records / max(now - self._begun, 0.001)
        text = f"eosfw: {many(records, 'record')} in {many(transactions, 'transaction')} committed, {rate:,.0f}/s"
        if self._live:
            print(f"\r\x1b[2K{text}", end="", file=self._stream, flush=True)
            self._open_line = True
        else:
            self._line(text)

    def close(self) -> None:
        """End a line that is still open."""
        if self._open_line:
            print("\r\x1b[2K", end="", file=self._stream, flush=True)
        self._open_line = False

    def _line(self, text: str) -> None:
        self.close()
        print(text, file=self._stream, flush=True)
