"""Make standard streams safe to write to, whatever they are connected to."""

from __future__ import annotations

import os
import sys
from typing import Any

from eosfw.errors import EosfwError


class OutputError(EosfwError):
    """A result could not be written to stdout."""

    def __init__(self, why: OSError) -> None:
        super().__init__(
            f"the result could not be written to stdout: {why.strerror}; see to the place that stdout is redirected to"
        )


class _Stream:
    """A standard stream whose failures are handled in one place."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            written: int = self._stream.write(text)
        except OSError as why:
            self.failed(why)
            return len(text)
        return written

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as why:
            discard_output(self._stream)
            self.failed(why)

    def failed(self, why: OSError) -> None:
        """Deal with what was not written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class MessageStream(_Stream):
    """stderr, on which nothing depends: a reader may have gone, a terminal may have hung up."""


class ResultStream(_Stream):
    """stdout, whose failures are OutputErrors, but for a reader that has had enough."""

    def failed(self, why: OSError) -> None:
        raise why if isinstance(why, BrokenPipeError) else OutputError(why)


def prepare_streams() -> bool:
    """Open what is closed, so that no file or socket of ours takes its place; tell whether stdout was open.

    From now on nothing fails because a message has no reader, and what keeps a result from being written is told.
    """
    closed = [number for number in (0, 1, 2) if not _open(number)]
    for number in closed:
        _point_nowhere(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if not isinstance(sys.stdout, _Stream):
        sys.stdout = ResultStream(sys.stdout)
    if not isinstance(sys.stderr, _Stream):
        sys.stderr = MessageStream(sys.stderr)
    return 1 not in closed


def discard_output(stream: Any) -> None:
    """Let a stream that cannot be written to lose what it holds, else Python tries again, and complains, at exit."""
    try:
        _point_nowhere(stream.fileno())
        stream.flush()
    except (OSError, ValueError):  # no descriptor is left, or the stream has none
        return


def _open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _point_nowhere(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
