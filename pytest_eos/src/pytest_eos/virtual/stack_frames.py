"""The stack frames of a greenlet, as text."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

from greenlet import getcurrent, greenlet

_HERE = str(Path(__file__).parent)
_SHOWN = 3
"""How many frames are shown: the call that blocks and its callers."""


def location_of(thread: greenlet | None) -> str:
    """The innermost frames of a greenlet outside this package; empty for one that has not started."""
    frame = sys._getframe() if thread is getcurrent() else getattr(thread, "gr_frame", None)  # noqa: SLF001 - no other way
    lines: list[str] = []
    while frame is not None and len(lines) < _SHOWN:
        if not frame.f_code.co_filename.startswith(_HERE):
            lines.append(frame_location(frame))
        frame = frame.f_back
    return f" in {', called by '.join(lines)}" if lines else ""


def frame_location(frame: FrameType) -> str:
    """The function, file and line of a frame."""
    path = Path(frame.f_code.co_filename)
    return f"{frame.f_code.co_name} ({path.parent.name}/{path.name}:{frame.f_lineno})"
