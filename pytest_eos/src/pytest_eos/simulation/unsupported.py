"""Refuse what cannot be simulated: threads and processes that code under simulation starts."""

from __future__ import annotations

import os
import pkgutil
import sys
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pytest_eos.virtual.stack_frames import frame_location

_THREADS = ("threading.Thread.start", "_thread.start_new_thread")
"""What starts threads; only newer Pythons have an audit event for that."""
_REFUSED = {
    "subprocess.Popen": "a process",
    "os.fork": "a process",
    "os.forkpty": "a process",
    "os.posix_spawn": "a process",
    "os.system": "a process",
    "os.exec": "a process",
}
"""Audit events of the interpreter, and what they start."""
_LIBRARY = Path(os.__file__).parent
_active: list[Refusals] = []


class UnsupportedInSimulationError(Exception):
    """Code under simulation did what cannot be simulated: raised where it did."""


class NotSimulatedError(Exception):
    """A connector cannot be simulated: raised in the test, with the place and what to do."""


class Refusals:
    """What was refused within one run."""

    def __init__(self) -> None:
        self.thread = get_ident()
        self.first: str | None = None
        """What was refused first, and where."""

    def refuse(self, what: str) -> None:
        """Raise, and remember: code under simulation may catch what is raised here."""
        where = _caller(sys._getframe(1))  # noqa: SLF001 - the one way to see who calls
        text = f"{where} starts {what} of its own, which cannot be simulated"
        self.first = self.first or text
        raise UnsupportedInSimulationError(text)

    def of_thread(self, start: Callable[..., Any]) -> Callable[..., Any]:
        """A function that starts threads for other threads alone."""

        def refused(*given: Any, **named: Any) -> Any:
            if get_ident() == self.thread:
                self.refuse("a thread")
            return start(*given, **named)

        return refused


@contextmanager
def refusing() -> Iterator[Refusals]:
    """Refuse threads and processes that the calling thread starts."""
    _install()
    refusals = Refusals()
    _active.append(refusals)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in _THREADS:
                patch.setattr(name, refusals.of_thread(pkgutil.resolve_name(name)))
            yield refusals
    finally:
        _active.remove(refusals)


def _audit(event: str, _: tuple[Any, ...]) -> None:
    if _active and event in _REFUSED and get_ident() == _active[-1].thread:
        _active[-1].refuse(_REFUSED[event])


_installed: list[bool] = []


def _install() -> None:
    """Hook into the interpreter, once: such a hook stays for ever."""
    if not _installed:
        sys.addaudithook(_audit)
        _installed.append(True)


def _caller(frame: FrameType | None) -> str:
    """The innermost frame outside the standard library and this module."""
    here = Path(__file__)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        within = path.is_relative_to(_LIBRARY) and "site-packages" not in path.parts
        if path != here and not within:
            return frame_location(frame)
        frame = frame.f_back
    return "code of the standard library"
