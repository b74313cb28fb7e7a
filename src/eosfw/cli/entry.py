"""Turn what a command raises into a sentence on stderr, an exit code."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from typing import NoReturn

from eosfw.errors import EosfwError, ExitCode

DEBUG = "EOSFW_DEBUG"
"""Environment variable: with a value, errors show their traceback."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command, then exit."""
    code = _run(sys.argv[1:] if arguments is None else arguments)
    sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    try:
        from eosfw.cli.app import command

        _log_warnings()
        answer = command().main(list(arguments) or ["--help"], prog_name="eosfw", standalone_mode=False)
        if answer == ExitCode.INTERRUPTED:  # typer has made a code of Ctrl-C, without a word
            return _say("interrupted", ExitCode.INTERRUPTED)
        return answer if isinstance(answer, int) else ExitCode.OK
    except EosfwError as error:
        _debug()
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted", ExitCode.INTERRUPTED)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.VERDICT_FAILED
    except Exception as error:  # noqa: BLE001 (the last one who can tell the user)
        return _misused(error) if hasattr(error, "format_message") else _unexpected(error)


def _misused(error: Exception) -> int:
    from eosfw.cli.usage import sentence

    return _say(sentence(error), ExitCode.USAGE)


def _unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    with NamedTemporaryFile("w", prefix="eosfw-error-", suffix=".txt", delete=False, encoding="utf-8") as file:
        traceback.print_exc(file=file)
    text = " ".join(str(error).split())
    whose = f"This is a fault of eosfw or a plugin; the traceback is in {file.name}"
    return _say(f"unexpected {type(error).__name__}: {text}. {whose}", ExitCode.VERDICT_FAILED)


def _say(text: str, code: int) -> int:
    for line in text.splitlines() or [""]:
        print(f"eosfw: {line}", file=sys.stderr)
    return code


def _debug() -> None:
    if os.environ.get(DEBUG):
        traceback.print_exc()


def _log_warnings() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Brief("eosfw: %(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if os.environ.get(DEBUG) else logging.WARNING, handlers=[handler])


class _Brief(logging.Formatter):
    """Shows a logged exception's traceback only to those who asked for tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if os.environ.get(DEBUG) else text.partition("\nTraceback ")[0]
