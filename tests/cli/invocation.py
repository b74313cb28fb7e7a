"""The command line in this process; one of its own takes a second of a processor to start."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO
from unittest.mock import patch

from eosfw.cli import main

Ended = subprocess.CompletedProcess[str]


def invoke(*words: str) -> Ended:
    """Run `eosfw WORDS` to its end."""
    with TemporaryFile() as out, TemporaryFile() as err:
        with _process_state_kept(), _redirected("stdout", 1, out), _redirected("stderr", 2, err):
            try:
                main(words)
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(words, code, _text(out), _text(err))


@contextmanager
def _process_state_kept() -> Iterator[None]:
    """Undo what a command sets for the rest of its process, and hide pytest's handlers of log records from it."""
    hook, handlers, level = sys.unraisablehook, logging.root.handlers[:], logging.root.level
    environment = dict(os.environ)
    logging.root.handlers[:] = []
    try:
        # Objects that live now would never be collected, such as those that an error of this command keeps together.
        with patch("eosfw.cli.loaded_objects.keep_loaded_objects"):
            yield
    finally:
        sys.unraisablehook, logging.root.handlers[:] = hook, handlers
        logging.root.setLevel(level)
        os.environ.clear()
        os.environ.update(environment)


@contextmanager
def _redirected(name: str, descriptor: int, file: IO[bytes]) -> Iterator[None]:
    stream, kept = getattr(sys, name), os.dup(descriptor)
    stream.flush()
    os.dup2(file.fileno(), descriptor)
    setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8", closefd=False))
    try:
        yield
    finally:
        getattr(sys, name).flush()
        setattr(sys, name, stream)
        os.dup2(kept, descriptor)
        os.close(kept)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
