"""Standard streams whose failures are handled in one place, whatever they are connected to."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, Final

from eosfw.errors import EosfwError

UNENCODABLE: Final = "backslashreplace"
"""What is written of a character that the encoding of stdout lacks, as Python itself does on stderr."""


class OutputError(EosfwError):
    """A result could not be written to stdout."""

    def __init__(self, why: OSError) -> None:
        super().__init__(
            f"the result could not be written to stdout: {why.strerror}; see to the place that stdout is redirected to"
        )


class _Stream:
    """A standard stream that passes failures of writing to `failed`."""

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
        """Handle that something was not written; by default it is lost."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class MessageStream(_Stream):
    """stderr: messages that cannot be written are lost, since a reader or a terminal may be gone."""


class ResultStream(_Stream):
    """stdout: what cannot be written is an OutputError, except that a pipe's reader may stop reading."""

    leads_to_stderr = False
    """Whether what is written are messages, of a connector that prints: these are lost if they cannot be written."""

    def failed(self, why: OSError) -> None:
        if not self.leads_to_stderr:
            raise why if isinstance(why, BrokenPipeError) else OutputError(why)


def prepare_streams() -> bool:
    """Guard stdout and stderr; False if stdout was closed.

    Closed descriptors are opened on the null device: else the next file or socket would get the number of a standard
    stream, and messages would be written into it.
    """
    closed = [number for number in (0, 1, 2) if not _is_open(number)]
    for number in closed:
        _point_nowhere(number)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=UNENCODABLE)
    if not isinstance(sys.stdout, _Stream):
        sys.stdout = ResultStream(sys.stdout)
    if not isinstance(sys.stderr, _Stream):
        sys.stderr = MessageStream(sys.stderr)
    return 1 not in closed


def discard_output(stream: Any) -> None:
    """Discard what a stream has buffered and cannot write; else Python would try again at exit, and print an error."""
    try:
        _point_nowhere(stream.fileno())
        stream.flush()
    except (OSError, ValueError):  # no descriptor is free, or the stream has none
        return


def _is_open(number: int) -> bool:
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


def print_message(text: str) -> None:
    """Tell the user something; stdout is for data alone."""
    print(f"eosfw: {text}", file=sys.stderr)
