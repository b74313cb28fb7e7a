"""stdout for data alone, whatever else this process or its children print."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from eosfw.cli.output.standard_streams import UNENCODABLE, OutputError, ResultStream, discard_output


def print_data(text: str) -> None:
    """Print data; it is no error if the reader of a pipe has gone."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_output(sys.stdout)


@contextmanager
def reserved_stdout() -> Iterator[Callable[[str], bool]]:
    """Send to stderr what is written to stdout meanwhile, also by a JVM; yield a function that writes to stdout.

    The function answers whether there is still a reader, or raises OutputError.
    """
    stream = sys.stdout
    stream.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    if isinstance(stream, ResultStream):
        stream.leads_to_stderr = True
    try:
        yield lambda text: _write(real, f"{text}\n".encode(errors=UNENCODABLE))
    finally:
        stream.flush()
        os.dup2(real, 1)
        os.close(real)
        if isinstance(stream, ResultStream):
            stream.leads_to_stderr = False


def _write(descriptor: int, data: bytes) -> bool:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        return False
    except OSError as why:
        raise OutputError(why) from None
    return True
