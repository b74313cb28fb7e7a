"""Notice which lines and branches of a program run for the first time.

`sys.monitoring` (PEP 669, from Python 3.12 on) tells of each place until it is told that it has heard enough, so code
that ran before runs at full speed. On Python 3.11 nothing is noticed: there a fuzzer goes by what its target shows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from types import CodeType, TracebackType
from typing import Final, Self

GUIDED: Final = sys.version_info >= (3, 12)
"""Whether this Python tells."""

_TOOL = 4
"""One of the numbers that are free for anybody."""
_BOTH_WAYS = 2


class Coverage:
    """Counts places that ran, from entering on; one at a time, since the interpreter has one ear for it."""

    def __init__(self, ours: Callable[[str], bool]) -> None:
        self.places = 0
        self._ours = ours
        self._ways: dict[Hashable, set[int]] = {}

    def __enter__(self) -> Self:
        if GUIDED:
            told = sys.monitoring
            told.use_tool_id(_TOOL, "eosfw-fuzz")
            told.register_callback(_TOOL, told.events.LINE, self._line)
            told.register_callback(_TOOL, told.events.BRANCH, self._branch)
            told.restart_events()
            told.set_events(_TOOL, told.events.LINE | told.events.BRANCH)
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        if GUIDED:
            told = sys.monitoring
            told.set_events(_TOOL, 0)
            told.free_tool_id(_TOOL)

    def _line(self, code: CodeType, _line: int) -> object:
        self.places += self._ours(code.co_filename)
        return sys.monitoring.DISABLE

    def _branch(self, code: CodeType, offset: int, target: int) -> object:
        if self._ours(code.co_filename):
            ways = self._ways.setdefault((code, offset), set())
            if target not in ways:
                ways.add(target)
                self.places += 1
            if len(ways) < _BOTH_WAYS:
                return None
        return sys.monitoring.DISABLE
